/** What has gone wrong in this process since its start, for its metrics. */
export const processFaults = {
  /** Errors that nothing has caught. */
  uncaught: 0,
  /** Writes that failed as a disk of the server or of its database is full. */
  diskFull: 0,
}
