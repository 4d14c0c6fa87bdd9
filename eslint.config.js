// Rules for the page's script (dashboards/browser); `make lint-js` installs the linter of package-lock.json and runs it.

import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    files: ["dashboards/browser/*.js"],
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: { ...globals.browser, Plotly: "readonly" } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "object-shorthand": "error",
      "id-length": ["error", { min: 2, exceptions: ["$", "_", "a", "b", "i", "j", "k", "x", "y"], properties: "never" }],
      "no-shadow": ["error", { builtinGlobals: false }],
      "no-unused-vars": "error",
      "no-var": "error",
      "one-var": ["error", "never"],
      "prefer-const": "error",
    },
  },
];
