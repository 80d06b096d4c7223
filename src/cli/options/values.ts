import { InvalidArgumentError, Option } from 'commander'

/** Parsers of option values. All throw InvalidArgumentError, which commander reports with the option. */

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It is not a whole number.')
  return Number(text)
}

/** Parses whole numbers separated by commas. */
export function wholeNumbers(text: string): number[] {
  return text.split(',').map((each) => wholeNumber(each.trim()))
}

export function decimal(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It is not a number.')
  return value
}

/** Parses `3`, `1..3`, `1..` or `..3`; ends included. */
export function range(text: string): { min: number | null; max: number | null } {
  const [, low = '', dots, high = ''] = /^(\d*)(\.\.)?(\d*)$/.exec(text) ?? []
  if (low === '' && high === '') throw new InvalidArgumentError('It is not a range, like 3, 1..3, 1.. or ..3.')
  const ends = { min: low === '' ? null : Number(low), max: high === '' ? null : Number(high) }
  return dots === undefined ? { min: ends.min, max: ends.min } : ends
}

const ARRAY_MAX = 100_000

/** Parses `1..100`, ends included. @throws InvalidArgumentError */
export function arrayNumbers(given: string): number[] {
  const { min, max } = range(given)
  if (min === null || max === null || max < min) throw new InvalidArgumentError('It is not an array, like 1..100.')
  if (max - min >= ARRAY_MAX) throw new InvalidArgumentError(`An array has at most ${ARRAY_MAX} sessions.`)
  return Array.from({ length: max - min + 1 }, (_, at) => min + at)
}

const UNITS = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const

/** Parses `90`, `90s`, `1.5m`, `2h` or `1d` to seconds. */
export function seconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)?$/.exec(text)
  if (!match) throw new InvalidArgumentError('It is not a duration, like 30, 90s, 5m, 2h or 1d.')
  return Number(match[1]) * UNITS[(match[2] ?? 's') as keyof typeof UNITS]
}

/** A word for null: commander replaces a parsed null by an empty text, so null is set later. */
export type None = 'none'

/** Accepts what `parse` accepts, or `none`. */
export function orNone<Value>(parse: (text: string) => Value): (text: string) => Value | None {
  return (text) => (text === 'none' ? text : parse(text))
}

export function nullForNone<Value>(value: Value | None | undefined): Value | null | undefined {
  return value === 'none' ? null : value
}

/** Parses a time in ISO 8601; a duration means that long ago. */
export function past(text: string): string {
  return moment(text, -1)
}

/** Parses a time in ISO 8601; a duration means that long from now. */
export function future(text: string): string {
  return moment(text, 1)
}

function moment(text: string, sign: 1 | -1): string {
  if (/^\d+(\.\d+)?[a-z]+$/.test(text)) return new Date(Date.now() + sign * seconds(text) * 1000).toISOString()
  const date = new Date(text)
  if (!/^\d{4}-/.test(text) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('It is neither a time, like 2026-11-21T12:00:00Z, nor a duration, like 2h.')
  }
  return date.toISOString()
}

/** Parses `name=value`; the value may contain `=`. */
export function pair(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It is not like NAME=VALUE.')
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Parses `name=value` of an option that may be repeated. */
export function pairs(text: string, earlier: [string, string][] = []): [string, string][] {
  return [...earlier, pair(text)]
}

/**
 * Creates an option with one of several values, which are upper case in the API, and lower case with hyphens on the
 * command line.
 */
export function choice<Word extends string>(flags: string, description: string, words: readonly Word[]): Option {
  return new Option(flags, description).choices(words.map(written)).argParser((text) => oneOf(text, words))
}

/** Creates an option with several such values, separated by commas. */
export function choices<Word extends string>(flags: string, description: string, words: readonly Word[]): Option {
  return new Option(flags, description)
    .choices(words.map(written))
    .argParser((text, earlier: Word[] | undefined) => [
      ...(earlier ?? []),
      ...text.split(',').map((word) => oneOf(word, words)),
    ])
}

export function oneOf<Word extends string>(text: string, words: readonly Word[]): Word {
  const word = text.trim().toUpperCase().replaceAll('-', '_')
  const found = words.find((candidate) => candidate === word)
  if (found === undefined) throw new InvalidArgumentError(`Allowed values are ${words.map(written).join(', ')}.`)
  return found
}

function written(word: string): string {
  return word.toLowerCase().replaceAll('_', '-')
}
