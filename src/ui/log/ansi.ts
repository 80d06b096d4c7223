/** A part of a line with one style. */
export interface Span {
  text: string
  /** One of the sixteen colours of terminals; undefined for that of the text. */
  colour?: number
  background?: number
  bold?: boolean
  dim?: boolean
  italic?: boolean
  underline?: boolean
  /** The link's target. */
  href?: string
}

type Style = Omit<Span, 'text' | 'href'>

/** The most spans of a line; the rest is shown in the last style. */
const SPANS_MAX = 500

/**
 * Colours and styles (SGR) are applied; other control sequences, titles and links are removed. All of them end where
 * the line does.
 */
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- the pattern looks for them
  /(?:\u001b\[|\u009b)([0-9:;<=>?]*)[ -/]*([@-~])?|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g

/** Control characters, and characters that change the direction of the text. */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex -- the pattern looks for them
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]/g

/** Parses a line of a terminal into spans. Text that a carriage return overwrites is left out. */
export function parseAnsi(line: string): Span[] {
  const spans: Span[] = []
  let style: Style = {}
  let from = 0
  const shown = overwritten(line)
  for (const match of shown.matchAll(ESCAPES)) {
    push(spans, shown.slice(from, match.index), style)
    from = match.index + match[0].length
    if (match[2] === 'm' && spans.length < SPANS_MAX) style = styled(style, match[1]!)
  }
  push(spans, shown.slice(from), style)
  return spans.flatMap(withLinks)
}

/** The visible text without escapes, for copying. */
export function plainText(line: string): string {
  return overwritten(line).replaceAll(ESCAPES, '').replaceAll(INVISIBLE, '')
}

function overwritten(line: string): string {
  const kept = line.replace(/\r+$/, '')
  return kept.slice(kept.lastIndexOf('\r') + 1)
}

function push(spans: Span[], text: string, style: Style): void {
  const visible = text.replaceAll(INVISIBLE, '\ufffd')
  if (visible === '') return
  const last = spans.at(-1)
  if (last !== undefined && (spans.length >= SPANS_MAX || isSame(last, style))) last.text += visible
  else spans.push({ text: visible, ...style })
}

const STYLES = ['colour', 'background', 'bold', 'dim', 'italic', 'underline'] as const

function isSame(a: Style, b: Style): boolean {
  return STYLES.every((key) => a[key] === b[key])
}

const SWITCHES: Record<number, (style: Style) => Style> = {
  0: () => ({}),
  1: (style) => ({ ...style, bold: true }),
  2: (style) => ({ ...style, dim: true }),
  3: (style) => ({ ...style, italic: true }),
  4: (style) => ({ ...style, underline: true }),
  22: (style) => ({ ...style, bold: undefined, dim: undefined }),
  23: (style) => ({ ...style, italic: undefined }),
  24: (style) => ({ ...style, underline: undefined }),
  39: (style) => ({ ...style, colour: undefined }),
  49: (style) => ({ ...style, background: undefined }),
}

function styled(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map(Number)
  let now = style
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index]!
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, index + 1)
      if (colour !== undefined) now = code === 38 ? { ...now, colour } : { ...now, background: colour }
      index += used
    } else now = SWITCHES[code]?.(now) ?? coloured(now, code)
  }
  return now
}

function coloured(style: Style, code: number): Style {
  if (code >= 30 && code <= 37) return { ...style, colour: code - 30 }
  if (code >= 90 && code <= 97) return { ...style, colour: code - 90 + 8 }
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 }
  if (code >= 100 && code <= 107) return { ...style, background: code - 100 + 8 }
  return style
}

/** Maps 256 and 16 million colours to the nearest of the sixteen, which are readable on the theme's background. */
function extended(codes: readonly number[], at: number): [colour: number | undefined, used: number] {
  if (codes[at] === 5) return [indexedColour(codes[at + 1] ?? 0), 2]
  if (codes[at] !== 2) return [undefined, 1]
  return [nearest(codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0), 4]
}

function indexedColour(index: number): number {
  if (index < 16) return index
  if (index >= 232) return nearest(...grey(8 + (index - 232) * 10))
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40)
  const cube = index - 16
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6))
}

function grey(value: number): [number, number, number] {
  return [value, value, value]
}

function nearest(red: number, green: number, blue: number): number {
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)]
  if (!(most > 0)) return 0
  if (most - least < 40) return most < 64 ? 0 : most < 128 ? 8 : most < 210 ? 7 : 15
  const middle = (most + least) / 2
  const colour = (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0)
  return most > 200 ? colour + 8 : colour
}

/** Only these become links; the whole address is shown. */
const LINK = /https?:\/\/[^\s"'<>`\ufffd]+/g
/** Characters that end a sentence, not an address. */
const AFTER_LINK = /[.,;:!?)\]}]+$/

function withLinks(span: Span): Span[] {
  if (!span.text.includes('://')) return [span]
  const parts: Span[] = []
  let from = 0
  for (const { 0: found, index } of span.text.matchAll(LINK)) {
    const href = found.replace(AFTER_LINK, '')
    if (!URL.canParse(href)) continue
    if (index > from) parts.push({ ...span, text: span.text.slice(from, index) })
    parts.push({ ...span, text: href, href })
    from = index + href.length
  }
  if (from < span.text.length) parts.push({ ...span, text: span.text.slice(from) })
  return parts
}
