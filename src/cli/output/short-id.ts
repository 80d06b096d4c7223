import type { Terminal } from './terminal.ts'

/** The milliseconds of a time-ordered UUID, and 12 bits that differ within one: commands take it for the whole. */
const SHOWN_LENGTH = '00000000-0000-7000'.length

/** An id in a line: on a terminal as much of it as nearly always tells it from all others. */
export function shortId(id: string, { columns }: Terminal): string {
  return columns === undefined ? id : id.slice(0, SHOWN_LENGTH)
}
