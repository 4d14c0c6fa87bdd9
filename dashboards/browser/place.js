// Where a reader of a page stands in newer data, by numbers of slices: dates of several slices get other names.

// the date of `newer` that holds the last slice of a date of `page`
export const dateIn = (newer, page, date) => {
  const later = newer.last - page.last + (page.labels.length - 1 - date) * page.per;
  return Math.max(0, newer.labels.length - 1 - Math.max(0, Math.floor(later / newer.per)));
};
