/**
 * What every archive is held to, whoever wrote it. Each bound is on something that its bytes could otherwise multiply:
 * with them, reading takes a constant number of steps per byte, and extracting makes a bounded number of files.
 */

/** Of a name, or of the target of a link: far below what file systems take, so that any directory has room in front. */
export const NAME_BYTES_MAX = 1024
/** Of a name between two slashes: of every file system that matters. */
export const PART_BYTES_MAX = 255
/** Parts of a name. A program that walks the tree may keep one directory open for each part. */
export const DEPTH_MAX = 128
/** Directories that are only there because of what is in them, of the whole archive. */
export const IMPLIED_MAX = 20_000
/** Of an extended header: a name, a target, and what other programs note. */
export const EXTENDED_BYTES_MAX = 8192
/** Records in an extended header; `tar` writes at most nine. */
export const EXTENDED_RECORDS_MAX = 32
/** Zeros behind the end: `tar` fills its last record, of 10 KiB unless it is told otherwise. */
export const TRAILING_BYTES_MAX = 1024 * 1024

/** Steps between which the event loop gets its turn: a header, a part of a name, a record or 4 KiB of content is one. */
export const SLICE_STEPS_MAX = 1_000
export const STEP_BYTES = 4096

/** Which bound an archive is over. */
export type ArchiveLimit =
  | 'entries'
  | 'implied-directories'
  | 'depth'
  | 'name-bytes'
  | 'extended-bytes'
  | 'extended-records'
  | 'trailing-bytes'
