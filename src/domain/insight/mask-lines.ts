/**
 * Masks replace what differs from one occurrence of a message to the next, so that equal messages become equal texts.
 * They have no state: the same line always gives the same text.
 */
export interface Masks {
  /** Part of each fingerprint, and stored with it. */
  version: number
  mask: (line: string) => string
}

/**
 * The masks in use, and the version before them. A change of any mask is a new version: keep the masks before it, as the
 * second. For a month after an upgrade both make fingerprints, so that failures find the groups that they had.
 */
export type MaskVersions = readonly [newest: Masks, former?: Masks]
export const MASK_VERSIONS: MaskVersions = [{ version: 1, mask: maskLine }]

/** Characters of a line that are looked at. */
export const MASKED_CHARACTERS_MAX = 400

/** Extensions of files whose names say where an error is. */
const SOURCE =
  '(?:py|pyx|js|mjs|cjs|ts|tsx|jsx|java|kt|scala|go|rs|c|cc|cpp|cxx|cu|h|hpp|f|f90|jl|r|R|rb|pl|php|cs|swift|sh|sql|lua|ipynb)'

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*'
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*'
const CLOCK = String.raw`\d{1,2}:\d{2}(?::\d{2}(?:[.,:]\d{1,9})?)?(?:\s?[AP]M)?(?:Z|\s?[+-]\d{2}:?\d{2})?`
const DATE = String.raw`(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})`
/** Ends of the names of hosts. */
const HOST_END =
  '(?:com|net|org|edu|gov|mil|int|info|local|internal|lan|cloud|dev|[a-z]{2}\\.[a-z]{2}|uk|de|fr|ch|eu|us|cn|jp|kr|ru|br|in|au|nl|se|hk|tw|it|es)'
const UNIT =
  '(?:%|[kKMGTP]?i?[bB](?:its?|ytes?)?(?:/s)?|(?:kilo|mega|giga)?bytes?|[nmuµ]?s(?:ec(?:ond)?s?)?|min(?:ute)?s?|h(?:ours?)?|[kMG]?Hz|°?C|px|x)'

/** The masks in the order in which they apply. */
const MASKS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // ANSI codes.
  // eslint-disable-next-line no-control-regex
  [/\u001B(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007]*\u0007|[@-Z\\-_])/g, ''],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<uuid>'],
  [/\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>()[\]]+/gi, '<url>'],
  // Paths: the name of a source file stays.
  [
    new RegExp(
      String.raw`(?<![\w/.<])(?:[A-Za-z]:)?(?:\.{0,2}[\\/])?(?:[\w.@+~-]+[\\/])+([\w.-]+\.${SOURCE})(?![\w])`,
      'g',
    ),
    '<path>/$1',
  ],
  [/(?<![\w/.<>])(?:[A-Za-z]:\\|~?\/|\.{1,2}\/)[\w.@+~$-]+(?:[\\/][\w.@+~$*-]*)*/g, '<path>'],
  // Addresses, which look like dates, and names of hosts.
  [/(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:\/\d{1,2})?(?![\d.]*\d)/g, '<ip>'],
  [/(?<![0-9a-f:])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![0-9a-f:])/gi, '<mac>'],
  [/(?<![0-9a-z:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![0-9a-z:])/gi, '<ip>'],
  [new RegExp(String.raw`(?<![\w.@/-])(?:[a-z0-9_-]+\.)+${HOST_END}(?::\d{1,5})?(?![\w.-]*\w)`, 'gi'), '<host>'],
  // Times: with a date, with a month or a day of the week, and alone.
  [new RegExp(String.raw`\b${DATE}(?:[T ,_-]{1,2}${CLOCK})?`, 'g'), '<time>'],
  [
    new RegExp(String.raw`\b(?:${DAY},?\s+)?${MONTH}\s+\d{1,2}(?:,?\s+\d{4})?(?:\s+${CLOCK})?(?:\s+\d{4})?\b`, 'g'),
    '<time>',
  ],
  [new RegExp(String.raw`\b(?:${DAY},?\s+)?\d{1,2}\s+${MONTH}(?:\s+\d{4})?(?:\s+${CLOCK})?\b`, 'g'), '<time>'],
  [new RegExp(String.raw`(?<![\d:.])${CLOCK}(?![\d:])`, 'g'), '<time>'],
  // Hexadecimal numbers.
  [/\b0x[0-9a-f]+\b/gi, '<hex>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b/gi, '<hex>'],
  // Words such as node-7, blk_123 and task_0a1.
  [/\b(?=[\w.-]*\d)(?=[\w.-]*[_-])[A-Za-z][\w-]*(?:\.[\w-]+)*/g, '<id>'],
  // Numbers.
  [new RegExp(String.raw`(?<![\w.])[+-]?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?\s?${UNIT}(?![\w])`, 'g'), '<n>'],
  [/\d+(?:\.\d+)*/g, '<n>'],
]

/** Masks a line: at most MASKED_CHARACTERS_MAX of it, with blanks joined. */
export function maskLine(line: string): string {
  let text = line.slice(0, MASKED_CHARACTERS_MAX)
  for (const [pattern, replacement] of MASKS) text = text.replace(pattern, replacement)
  return text.replaceAll(/\s+/g, ' ').trim()
}
