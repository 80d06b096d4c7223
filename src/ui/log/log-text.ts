import { parseAnsi } from './ansi.ts'

export interface LogPiece {
  stream: string
  text: string
}

/** The stream of notes, which no program wrote: the lines between two joined logs. */
export const NOTE = 'note'

export interface LogLine {
  stream: string
  /** The text without its line break, with escapes. Very long lines are cut. */
  text: string
  isCut: boolean
}

export interface Match {
  line: number
  /** The number of UTF-16 units of the line before the match. */
  column: number
}

export const LINE_UNITS_MAX = 20_000
/** Offsets within a chunk take two bytes. */
const CHUNK_UNITS_MAX = 65_535

interface Chunk extends LogPiece {
  /** The offsets of lines that begin inside the chunk, not at its start or end. */
  starts: Uint16Array
  endsLine: boolean
  /** The chunk contains escapes or control characters. */
  hasControls: boolean
  /** The chunk begins a line: the one before it ended a line, or has the other stream. */
  startsLine: boolean
  /** The number of lines that begin before the chunk. */
  linesBefore: number
}

/**
 * The lines of a log. The text stays in the chunks that were read; two bytes a line and a few for each chunk are
 * stored beside it. Chunks can be added at both ends. Output on the other stream begins a new line.
 */
export class LogText {
  private chunks: Chunk[] = []
  private lines = 0

  get lineCount(): number {
    return this.lines
  }

  /** Whether the last line has ended. */
  get endsLine(): boolean {
    return this.chunks.at(-1)?.endsLine ?? true
  }

  append(pieces: readonly LogPiece[]): void {
    for (const piece of divided(pieces)) {
      const chunk = indexed(piece)
      this.follow(chunk, this.chunks.at(-1))
      this.chunks.push(chunk)
    }
  }

  /** Adds earlier chunks, oldest first. Returns by how many lines the present lines have moved. */
  prepend(pieces: readonly LogPiece[]): number {
    const before = this.lines
    this.chunks = [...divided(pieces).map(indexed), ...this.chunks]
    this.lines = 0
    for (const [index, chunk] of this.chunks.entries()) this.follow(chunk, this.chunks[index - 1])
    return this.lines - before
  }

  line(index: number): LogLine {
    if (index < 0 || index >= this.lines) throw new RangeError(`no line ${index} of ${this.lines}`)
    let at = this.chunkOf(index)
    const { stream } = this.chunks[at]!
    let { from, to } = this.spanIn(this.chunks[at]!, index)
    let text = ''
    let isCut = false
    let returned = false
    for (;;) {
      const chunk = this.chunks[at]!
      // What a carriage return overwrites is not seen: the line of a progress bar may be longer than any line shown.
      const begin = chunk.hasControls ? lastRedraw(chunk.text, from, to) : from
      if (begin > from || (returned && !'\r\n'.includes(chunk.text[begin]!))) [text, isCut] = ['', false]
      returned = chunk.text[to - 1] === '\r'
      const room = LINE_UNITS_MAX - text.length
      isCut ||= to - begin > room
      text += chunk.text.slice(begin, Math.min(to, begin + room))
      if (to < chunk.text.length || chunk.endsLine) break
      // The line continues in chunks that do not begin a line.
      const next = this.chunks[++at]
      if (next === undefined || next.startsLine) break
      ;[from, to] = [0, next.starts[0] ?? next.text.length]
    }
    return { stream, text: withoutBreak(text), isCut }
  }

  /** The visible length of a line in UTF-16 units, without escapes. */
  lengthOf(index: number): number {
    const at = this.chunkOf(index)
    const chunk = this.chunks[at]!
    const { from, to } = this.spanIn(chunk, index)
    const isWhole = to < chunk.text.length || chunk.endsLine
    if (isWhole && !chunk.hasControls) return Math.min(LINE_UNITS_MAX, to - from - 1)
    return seenLength(this.line(index).text)
  }

  /** The lines that contain `query`, without regard to case, each once; at most `limit`. */
  search(query: string, limit = 10_000): Match[] {
    const matches: Match[] = []
    if (query === '') return matches
    const pattern = new RegExp(query.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`), 'gi')
    for (const [index, chunk] of this.chunks.entries()) {
      for (const at of this.placesIn(chunk, index, pattern, query.length)) {
        const passed = countUpTo(chunk.starts, at)
        const line = firstLineOf(chunk) + passed
        if (matches.at(-1)?.line === line) continue
        matches.push({ line, column: at - (passed > 0 ? chunk.starts[passed - 1]! : -this.lengthBefore(index)) })
        if (matches.length === limit) return matches
      }
    }
    return matches
  }

  /** The matches that begin in a chunk, also those that end in a later one. */
  private *placesIn(chunk: Chunk, index: number, pattern: RegExp, length: number): Generator<number> {
    for (const { index: at } of chunk.text.matchAll(pattern)) yield at
    const tail = chunk.text.slice(chunk.text.length - Math.min(chunk.text.length, length - 1))
    let ahead = ''
    for (let at = index + 1; ahead.length < length - 1; at++) {
      const next = this.chunks[at]
      if (next === undefined || next.startsLine) break
      ahead += next.text.slice(0, length - 1 - ahead.length)
    }
    if (ahead === '') return
    const begin = chunk.text.length - tail.length
    for (const { index: at } of (tail + ahead).matchAll(pattern)) if (at < tail.length) yield begin + at
  }

  /** The length of the line's part before the chunk in which it continues. */
  private lengthBefore(index: number): number {
    let length = 0
    for (let at = index; at > 0 && !this.chunks[at]!.startsLine; at--) {
      const { starts, text } = this.chunks[at - 1]!
      length += text.length - (starts.at(-1) ?? 0)
      if (starts.length > 0) break
    }
    return length
  }

  private follow(chunk: Chunk, before: Chunk | undefined): void {
    chunk.startsLine = before === undefined || before.endsLine || before.stream !== chunk.stream
    chunk.linesBefore = this.lines
    this.lines += chunk.starts.length + (chunk.startsLine ? 1 : 0)
  }

  /** The chunk in which a line begins. */
  private chunkOf(line: number): number {
    let [low, high] = [0, this.chunks.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.chunks[middle]!.linesBefore <= line) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  private spanIn(chunk: Chunk, line: number): { from: number; to: number } {
    const { starts, text } = chunk
    const index = line - firstLineOf(chunk)
    return { from: index === 0 ? 0 : starts[index - 1]!, to: starts[index] ?? text.length }
  }
}

/** The line at the start of a chunk, even if it began earlier. */
function firstLineOf({ startsLine, linesBefore }: Chunk): number {
  return startsLine ? linesBefore : linesBefore - 1
}

function divided(pieces: readonly LogPiece[]): LogPiece[] {
  return pieces.flatMap((piece) => {
    const { stream, text } = piece
    if (text === '') return []
    if (text.length <= CHUNK_UNITS_MAX) return [piece]
    const count = Math.ceil(text.length / CHUNK_UNITS_MAX)
    return Array.from({ length: count }, (_, index) => ({
      stream,
      text: text.slice(index * CHUNK_UNITS_MAX, (index + 1) * CHUNK_UNITS_MAX),
    }))
  })
}

function indexed({ stream, text }: LogPiece): Chunk {
  const starts: number[] = []
  for (let at = text.indexOf('\n'); at !== -1 && at + 1 < text.length; at = text.indexOf('\n', at + 1)) {
    starts.push(at + 1)
  }
  const endsLine = text.endsWith('\n')
  const hasControls = CONTROLS.test(text)
  return { stream, text, starts: Uint16Array.from(starts), endsLine, hasControls, startsLine: true, linesBefore: 0 }
}

// oxlint-disable-next-line no-control-regex -- the pattern looks for them
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/

function seenLength(line: string): number {
  return parseAnsi(line).reduce((sum, { text }) => sum + text.length, 0)
}

/** Returns where the text begins that follows the last carriage return; those at the end of the line do not count. */
function lastRedraw(text: string, from: number, to: number): number {
  let end = text[to - 1] === '\n' ? to - 1 : to
  while (end > from && text[end - 1] === '\r') end--
  return end === from ? from : Math.max(from, text.lastIndexOf('\r', end - 1) + 1)
}

function withoutBreak(text: string): string {
  if (text.endsWith('\r\n')) return text.slice(0, -2)
  return text.endsWith('\n') ? text.slice(0, -1) : text
}

/** Counts the starts at or before `at`. */
function countUpTo(starts: Uint16Array, at: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (starts[middle]! <= at) low = middle + 1
    else high = middle
  }
  return low
}
