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
export function range(text: string): { gte: number | null; lte: number | null } {
  const [, low = '', dots, high = ''] = /^(\d*)(\.\.)?(\d*)$/.exec(text) ?? []
  if (low === '' && high === '') throw new InvalidArgumentError('It is not a range, like 3, 1..3, 1.. or ..3.')
  const ends = { gte: low === '' ? null : Number(low), lte: high === '' ? null : Number(high) }
  return dots === undefined ? { gte: ends.gte, lte: ends.gte } : ends
}

const ARRAY_MAX = 100_000
const ARRAY_PART = /^(\d{1,15})(?:(?:-|\.\.)(\d{1,15})(?::(\d{1,15}))?)?$/

/** The numbers of an array, and how many of its sessions run at a time. */
/** How many members of a group may fail before it does. */
export interface FailedLimit {
  count?: number
  percent?: number
}

/** Parses `5` or `5%`. @throws InvalidArgumentError */
export function failedLimit(given: string): FailedLimit {
  const [, number, percent] = /^\s*(\d{1,7}(?:\.\d+)?)\s*(%?)\s*$/.exec(given) ?? []
  if (number === undefined || (percent === '' && number.includes('.')))
    throw new InvalidArgumentError('It is not a number like 5, or a share like 5%.')
  if (percent === '') return { count: Number(number) }
  if (Number(number) > 100) throw new InvalidArgumentError('A share is at most 100%.')
  return { percent: Number(number) }
}

export interface JobArray {
  numbers: readonly number[]
  /** Undefined: as many as find a place. */
  limit: number | undefined
}

/**
 * Parses the numbers of an array as Slurm does: `1-100` or `1..100`, ends included; lists, `1,5,9`; steps, `1-9:2`; and
 * a limit of sessions that run at a time, `%4`. A number that is named twice counts once.
 * @throws InvalidArgumentError
 */
export function jobArray(given: string): JobArray {
  const [, list, limit] = /^([^%]*)(?:%(\d{1,9}))?$/.exec(given.replaceAll(/\s+/g, '')) ?? []
  const parts = list?.split(',').map((part) => ARRAY_PART.exec(part))
  if (!parts?.every((part) => part !== null)) {
    throw new InvalidArgumentError('It is not an array, like 1-100, 1,5,9, 0-90:10 or 1-100%4.')
  }
  if (limit !== undefined && Number(limit) === 0) throw new InvalidArgumentError('The limit after % is at least 1.')
  const numbers = new Set<number>()
  for (const [part, low, high = low, step = '1'] of parts) {
    const [from, to, by] = [Number(low), Number(high), Number(step)]
    if (to < from) throw new InvalidArgumentError(`In ${part}, the last number is less than the first.`)
    if (by === 0) throw new InvalidArgumentError(`In ${part}, the step is 0.`)
    for (let number = from; number <= to; number += by) {
      numbers.add(number)
      if (numbers.size > ARRAY_MAX) throw new InvalidArgumentError(`An array has at most ${ARRAY_MAX} sessions.`)
    }
  }
  return { numbers: [...numbers], limit: limit === undefined ? undefined : Number(limit) }
}

/** From the longest to the shortest, which is the order in a compound duration. */
const UNITS = { w: 604_800, d: 86_400, h: 3_600, m: 60, s: 1, ms: 0.001 } as const
const DURATION = new RegExp(
  `^${Object.keys(UNITS)
    .map((unit) => `(?:(\\d+(?:\\.\\d+)?)${unit})?`)
    .join('')}$`,
)

/** Parses `90`, `90s`, `1.5m`, `2h`, `1d` or `1h30m` to seconds. */
export function seconds(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  const [, ...amounts] = DURATION.exec(text) ?? []
  if (amounts.every((amount) => amount === undefined)) {
    throw new InvalidArgumentError('It is not a duration, like 30, 90s, 5m, 2h, 1d or 1h30m.')
  }
  const sum = Object.values(UNITS).reduce((total, unit, at) => total + Number(amounts[at] ?? 0) * unit, 0)
  // Sums of binary fractions have a rest: 1.1 + 0.002 is not 1.102.
  return Number(sum.toFixed(6))
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
  if (/^\d/.test(text) && /[a-z]$/.test(text)) return new Date(Date.now() + sign * seconds(text) * 1000).toISOString()
  const time = /^\d{4}-\d\d-\d\d(?:[T ](?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i.exec(text)
  const date = new Date(text)
  if (!time || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('It is neither a time, like 2026-11-21T12:00:00Z, nor a duration, like 2h or 1h30m.')
  }
  if (!isOnCalendar(text)) throw new InvalidArgumentError('There is no such day in the calendar.')
  if (text.length > DAY_LENGTH && time[1] === undefined && !isOnClock(text, date)) {
    throw new InvalidArgumentError('This time does not exist here: the clocks are put forward.')
  }
  return date.toISOString()
}

const DAY_LENGTH = 'YYYY-MM-DD'.length

/** Whether the month has this day: `Date` takes February 30 for March 2. */
function isOnCalendar(text: string): boolean {
  const day = text.slice(0, DAY_LENGTH)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

/** Whether the local clock shows this time on its day. */
function isOnClock(text: string, date: Date): boolean {
  const shown = [date.getHours(), date.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
  return text.slice(DAY_LENGTH + 1).startsWith(shown)
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

export function written(word: string): string {
  return word.toLowerCase().replaceAll('_', '-')
}
