import cliTruncate from 'cli-truncate'
import stringWidth from 'string-width'
import type { TextMeasure } from './text-measure.ts'

/** For all text. What it knows about Unicode takes a third of a command's time to load. */
export const UNICODE_MEASURE: TextMeasure = {
  width: (text) => stringWidth(text),
  cut: (text, columns) => cliTruncate(text, columns, { position: 'middle' }),
}
