import { MASKED_CHARACTERS_MAX } from './mask-lines.ts'

/**
 * Chooses the lines of a log that say why a program failed: a traceback, or else the first lines of its end that look
 * like errors and that successful runs of the same name do not print, or else its last line.
 */
export interface FailureLines {
  kind: 'traceback' | 'errors' | 'last' | 'none'
  /** As the program wrote them, at most 3. */
  lines: string[]
}

/** Lines at the end of a log that are searched for errors, and for a traceback. */
const ERRORS_WITHIN = 50
const TRACEBACK_WITHIN = 400
const LINES_MAX = 3

/** @param isUsual whether successful runs of the same name print this line, too, or one that only differs by masks */
export function chooseFailureLines(log: string, isUsual: (line: string) => boolean): FailureLines {
  const all = log
    .split(/\r\n|\n|\r/)
    .map((line) => line.replaceAll(ANSI, '').trimEnd())
    .filter((line) => line.trim() !== '')
  const traceback = lastTraceback(all.slice(-TRACEBACK_WITHIN))
  if (traceback !== null) return { kind: 'traceback', lines: traceback.map(cut) }
  const errors = all.slice(-ERRORS_WITHIN).filter((line) => isErrorLike(line) && !isUsual(line))
  if (errors.length > 0) return { kind: 'errors', lines: errors.slice(0, LINES_MAX).map(cut) }
  const last = all.at(-1)
  return last === undefined ? { kind: 'none', lines: [] } : { kind: 'last', lines: [cut(last)] }
}

/** The lines among the last ones of a successful run that look like errors, masked: later failures print them, too. */
export function usualLines(log: string, mask: (line: string) => string): string[] {
  const lines = log.split(/\r\n|\n|\r/).filter(isErrorLike)
  return [...new Set(lines.slice(-USUAL_LINES_MAX).map(mask))]
}

const USUAL_LINES_MAX = 500

// oxlint-disable-next-line no-control-regex
const ANSI = /\u001B(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007]*\u0007|[@-Z\\-_])/g

function cut(line: string): string {
  return line.trim().slice(0, MASKED_CHARACTERS_MAX)
}

const ERROR_WORDS =
  /error|exception|\bfail(?:ed|ure|ures|s|ing)?\b|fatal|panic|critical|abort|cannot|can't|could ?n[o']t|unable|denied|refused|invalid|not found|no such|undefined|timed? ?out|killed|seg(?:mentation )?fault|out of memory|\boom\b|traceback|assert|unexpected|missing|unrecogni[sz]ed|corrupt|broken|illegal|overflow|not permitted|unknown (?:option|command|argument)/i
const WARNING = /\bwarn(?:ing|ings)?\b/i
const NO_ERRORS =
  /\b(?:0|no|without) (?:error|exception|fail|fatal|warn)\w*|\b(?:error|exception|failure|failed|fail)\w*\s*[:=]\s*0\b/i

/** Whether a line looks like an error: it has an error word, but is no warning, and counts no zero errors. */
export function isErrorLike(line: string): boolean {
  return ERROR_WORDS.test(line) && !WARNING.test(line) && !NO_ERRORS.test(line)
}

/** Each reads a traceback that begins or ends at a line. */
type Reader = (lines: readonly string[], at: number) => string[] | null

/** @returns the message and the innermost place in the program's own code; null if there is no traceback */
function lastTraceback(lines: readonly string[]): string[] | null {
  for (let at = lines.length - 1; at >= 0; at--) {
    for (const read of READERS) {
      const found = read(lines, at)
      if (found !== null) return found
    }
  }
  return null
}

const PYTHON_FRAME = /^\s+File "(.+)", line \d+(?:, in (.+))?$/
const PYTHON_ERROR =
  /^(?:[A-Za-z_][\w.]*\.)?[A-Z_][\w]*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Timeout|Group|Fault)?(?::.*)?$/
const PYTHON_FOREIGN = /\/(?:site|dist)-packages\/|\/lib\/python\d|^<frozen |\/python\d[\d.]*\.zip\//

/** From `Traceback (most recent call last):` on. Of chained ones the last is the one that ended the program. */
const python: Reader = (lines, at) => {
  if (!/^\s*(?:\S+ ?[|:] ?)?Traceback \(most recent call last\):/.test(lines[at]!)) return null
  const frames: string[] = []
  for (const line of lines.slice(at + 1)) {
    const [, file, where] = PYTHON_FRAME.exec(line) ?? []
    if (file !== undefined) frames.push(`${file} in ${where ?? '<module>'}`)
    else if (!/^\s/.test(line)) {
      if (!PYTHON_ERROR.test(line)) return null
      const own = frames.filter((frame) => !PYTHON_FOREIGN.test(frame))
      return withFrame(line, own.at(-1) ?? frames.at(-1))
    }
  }
  return null
}

const JAVA_HEAD =
  /^(?:Exception in thread "[^"]*" |Caused by: )?((?:[A-Za-z_$][\w$]*\.)+[\w$]*(?:Exception|Error|Throwable|Failure)(?::.*)?)$/
const JAVA_FRAME = /^\s+at ([\w$./<>]+)\(([^)]*)\)/
const JAVA_FOREIGN = /^(?:java|javax|jdk|sun|com\.sun|kotlin|scala|akka|org\.junit|org\.apache\.(?:spark|hadoop))\./

/** The last cause, which follows those that it caused. */
const java: Reader = (lines, at) => {
  const [, head] = JAVA_HEAD.exec(lines[at]!) ?? []
  if (head === undefined || !JAVA_FRAME.test(lines[at + 1] ?? '')) return null
  const frames: string[] = []
  for (const line of lines.slice(at + 1)) {
    const [, method] = JAVA_FRAME.exec(line) ?? []
    if (method === undefined) break
    frames.push(method)
  }
  return withFrame(head, frames.find((frame) => !JAVA_FOREIGN.test(frame)) ?? frames[0])
}

const NODE_HEAD = /^(?:Uncaught )?((?:[A-Za-z_$][\w$]*)?(?:Error|Exception)(?: \[\w+\])?(?::.*)?)$/
const NODE_FRAME = /^\s+at (?:(?:async )?(.+?) \()?((?:file:\/\/|\/|[A-Za-z]:\\|node:).+?):\d+:\d+\)?$/

const node: Reader = (lines, at) => {
  const [, head] = NODE_HEAD.exec(lines[at]!) ?? []
  if (head === undefined || !NODE_FRAME.test(lines[at + 1] ?? '')) return null
  const frames: string[] = []
  for (const line of lines.slice(at + 1)) {
    const [, where = '<anonymous>', file] = NODE_FRAME.exec(line) ?? []
    if (file === undefined) break
    frames.push(`${file} in ${where}`)
  }
  return withFrame(head, frames.find((frame) => !/node_modules|^node:/.test(frame)) ?? frames[0])
}

const go: Reader = (lines, at) => {
  const [, head] = /^((?:panic|fatal error): .+)$/.exec(lines[at]!) ?? []
  if (head === undefined) return null
  const rest = lines.slice(at + 1, at + 60)
  if (!rest.some((line) => /^goroutine \d+ /.test(line))) return null
  const frame = rest.find((line) => /^[\w./*()-]+\(.*\)$/.test(line) && !/^(?:panic|runtime)[.(]/.test(line))
  return withFrame(head, frame?.replace(/\(.*$/, ''))
}

const rust: Reader = (lines, at) => {
  const [, quoted, place] = /^thread '.*'.* panicked at (?:'(.*)', )?(.+)$/.exec(lines[at]!) ?? []
  if (place === undefined) return null
  const message = quoted ?? lines[at + 1]?.trim() ?? ''
  return withFrame(`panicked: ${message}`, place.replace(/:\d+(?::\d+)?:?$/, ''))
}

const native: Reader = (lines, at) => {
  const line = lines[at]!
  const [, thrown] = /^terminate called after throwing an instance of '(.+)'/.exec(line) ?? []
  if (thrown !== undefined) {
    const [, what] = /^\s*what\(\):\s*(.*)$/.exec(lines[at + 1] ?? '') ?? []
    return [what === undefined ? `terminate called: ${thrown}` : `${thrown}: ${what}`]
  }
  const [, report] =
    /^(?:==\d+==)?\s*((?:ERROR|WARNING): (?:Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer: .*)$/.exec(line) ??
    []
  if (report !== undefined) return [report]
  return /:\d+:\d+: runtime error: /.test(line) ? [line] : null
}

const READERS: readonly Reader[] = [python, java, node, go, rust, native]

function withFrame(head: string, frame: string | undefined): string[] {
  return frame === undefined ? [head] : [head, `at ${frame}`]
}
