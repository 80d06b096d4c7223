import { maskLine } from './mask-lines.ts'

/** The first place where two logs say different things. */
export interface LogDifference {
  /** Number of the line in each log, from 1. */
  leftNumber: number
  rightNumber: number
  /** The line in each log, as it was written; null where that log has ended. */
  leftLine: string | null
  rightLine: string | null
  /** The last lines before it, as the left log has them; at most 3. */
  linesBefore: string[]
  /** The next lines of each log after it; at most 3. */
  leftLinesAfter: string[]
  rightLinesAfter: string[]
}

const LINES_AROUND_MAX = 3
const LINE_LENGTH_MAX = 400

/**
 * Finds the first line where two logs differ, apart from what differs in each run: numbers, times, paths, ids. Empty
 * lines do not count. Null if they say the same.
 */
export function firstLogDifference(left: string, right: string): LogDifference | null {
  const [ours, theirs] = [linesOf(left), linesOf(right)]
  for (let at = 0; ; at++) {
    const [own, other] = [ours[at], theirs[at]]
    if (own === undefined && other === undefined) return null
    if (own !== undefined && other !== undefined && saysTheSame(own.text, other.text)) continue
    return {
      leftNumber: numberOf(ours, at),
      rightNumber: numberOf(theirs, at),
      leftLine: own === undefined ? null : shown(own),
      rightLine: other === undefined ? null : shown(other),
      linesBefore: ours.slice(Math.max(0, at - LINES_AROUND_MAX), at).map(shown),
      leftLinesAfter: ours.slice(at + 1, at + 1 + LINES_AROUND_MAX).map(shown),
      rightLinesAfter: theirs.slice(at + 1, at + 1 + LINES_AROUND_MAX).map(shown),
    }
  }
}

interface Line {
  number: number
  text: string
}

function linesOf(log: string): Line[] {
  return log
    .split(/\r\n|\n|\r/)
    .map((text, at) => ({ number: at + 1, text: text.trimEnd() }))
    .filter(({ text }) => text !== '')
}

function shown({ text }: Line): string {
  return text.slice(0, LINE_LENGTH_MAX)
}

/** The number of the line, or that after the last one. */
function numberOf(lines: readonly Line[], at: number): number {
  return lines[at]?.number ?? (lines.at(-1)?.number ?? 0) + 1
}

function saysTheSame(one: string, other: string): boolean {
  return one === other || maskLine(one) === maskLine(other)
}
