/** How text is measured and cut, in columns of a terminal. */
export interface TextMeasure {
  width(text: string): number
  /** Cut in the middle, if it is wider. */
  cut(text: string, columns: number): string
}

/** Each of these characters takes one column, alone and beside the others. */
const PLAIN = /^[\u0020-\u007e–…]*$/

export function isPlain(text: string): boolean {
  return PLAIN.test(text)
}

export const PLAIN_MEASURE: TextMeasure = {
  width: (text) => text.length,
  cut(text, columns) {
    if (text.length <= columns) return text
    if (columns <= 1) return '…'.repeat(columns)
    const front = Math.floor(columns / 2)
    return `${text.slice(0, front)}…${text.slice(text.length - (columns - front) + 1)}`
  },
}
