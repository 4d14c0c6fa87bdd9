-- The tables of a new run file, as all migrations of schema.py make them one after the other; a test compares them.

create table meta(key varchar primary key, value varchar not null);
create table migration(name varchar primary key, applied_at timestamp not null);
create table epoch(
    epoch bigint primary key, slice integer not null, "label" varchar not null, begun timestamp not null,
    n bigint not null, rejected bigint not null, late bigint not null, empty bigint not null, oov_rate double,
    prequential double, "seconds" double not null, finished boolean not null, lag bigint);
create table topic(
    epoch bigint not null, topic integer not null, "share" double, n double, kappa double, gamma double,
    tightness double, certainty double, drift_angle double, drift_angle_error double);
create table word(
    epoch bigint not null, topic integer not null, rank smallint not null, word varchar not null, weight float);
create table slice(
    slice integer primary key, "label" varchar not null, begins timestamp, ends timestamp, epoch bigint not null,
    n bigint not null, predicted double, persistence double, warm_up boolean not null, dimension integer not null,
    temperature double);
create table representative(
    slice integer not null, topic integer not null, rank integer not null, id varchar not null, title varchar not null,
    "time" timestamp, score double);
create table "event"(
    slice integer not null, epoch bigint not null, kind varchar not null, topic integer not null, other integer,
    "value" double, evidence double, chance double, decision bigint);
create table rejected(
    part varchar not null, source_offset bigint not null, epoch bigint not null, reason varchar not null,
    excerpt varchar not null);
create table "position"(part varchar primary key, next_offset bigint not null);
create table checkpoint_open(body ubigint using compression uncompressed);
create table checkpoint_slice(body ubigint using compression uncompressed);
create table filtered(
    slice integer not null, topic integer not null, n double, "share" double, kappa double, gamma double,
    tightness double, certainty double, drift_angle double, drift_angle_error double, share_low double,
    share_high double, radius double, npmi double, c_v double, diversity double, part_of integer, isotropy double);
create table filtered_word(
    slice integer not null, topic integer not null, rank smallint not null, word varchar not null, weight float);
create table smoothed(
    slice integer not null, topic integer not null, n double, "share" double, kappa double, gamma double,
    tightness double, certainty double, drift_angle double, drift_angle_error double, share_low double,
    share_high double, radius double);
create table smoothed_word(
    slice integer not null, topic integer not null, rank smallint not null, word varchar not null, weight float);
create table filtered_angle(
    slice integer not null, topic smallint not null, other smallint not null, degrees float not null);
create table filtered_sketch(slice integer not null, topic integer not null, numbers blob not null);
create table smoothed_angle(
    slice integer not null, topic smallint not null, other smallint not null, degrees float not null);
create table smoothed_sketch(slice integer not null, topic integer not null, numbers blob not null);
create table "snapshot"(
    "snapshot" integer primary key, kind varchar not null, slice integer not null, made timestamp not null,
    documents bigint not null, bound double, predicted double, live double);
create table snapshot_topic(
    "snapshot" integer not null, node integer not null, parent integer not null, "level" integer not null,
    topic integer not null, n double, "share" double, tightness double, certainty double);
create table snapshot_word(
    "snapshot" integer not null, node integer not null, rank smallint not null, word varchar not null, weight float);
create table checkpoint_open_before(body ubigint using compression uncompressed);
create table checkpoint_slice_before(body ubigint using compression uncompressed);
create table novel(
    slice integer not null, rank integer not null, id varchar not null, title varchar not null, "time" timestamp,
    novelty double not null, topic integer not null, story bigint default(-1));
create table stage(stage varchar primary key, "seconds" double not null);
create table story(
    story bigint not null, first_slice integer not null, last_slice integer not null, "first" timestamp,
    "last" timestamp, size bigint not null, topic integer not null, trend double not null,
    ended boolean not null, title varchar not null);
create table story_word(story bigint not null, rank smallint not null, word varchar not null, weight float);
create table story_document(
    story bigint not null, rank integer not null, id varchar not null, title varchar not null, "time" timestamp,
    score double);
create table story_event(
    slice integer not null, epoch bigint not null, kind varchar not null, story bigint not null, size bigint not null,
    other bigint, evidence double);
create table "document"(
    id varchar not null, "time" timestamp, slice integer not null, topic smallint not null, probability float,
    story integer not null, novelty float, place usmallint, "second" smallint default(-1), second_probability float,
    "text" varchar);
create table document_smoothed(slice integer not null, place usmallint not null, topic smallint not null);
create table topic_name(
    slice integer not null, topic integer not null, "name" varchar not null, title varchar not null);
create table topic_phrase(
    slice integer not null, topic integer not null, rank smallint not null, phrase varchar not null, weight float);
create table given_name(slice integer not null, topic integer not null, "name" varchar not null);
create table outbox(
    epoch bigint not null, part varchar not null, source_offset bigint not null, topic integer not null,
    probability float, story bigint not null, novelty float);
create table decision(
    number bigint not null, "key" varchar not null, made timestamp not null, kind varchar not null, topic integer,
    other integer, "text" varchar not null, slice integer not null, epoch bigint not null, refused varchar not null,
    undone_by bigint);
create table story_smoothed(slice integer not null, place usmallint not null, story integer);
create table story_slice(
    slice integer not null, story bigint not null, size bigint not null, topic integer not null, trend float not null,
    title varchar not null, words varchar not null);
create table "sample"(
    slice integer not null, "key" ubigint not null, part varchar not null, source_offset integer not null,
    packed blob not null using compression zstd);
