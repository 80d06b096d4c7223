import { ofCaller, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { UsageError } from '../present-error.ts'
import { type Job, readJobs } from './read-jobs.ts'
import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import type { JobArray } from '../options/values.ts'
import type { CreateSessionInput } from '../../client/node/index.ts'

/**
 * Plans the sessions that a file or an array describes. Undefined if neither is given, so that there is only one
 * session.
 * @throws UsageError also if there is no command
 */
export async function planJobs(
  options: SessionOptions,
  command: readonly string[],
): Promise<PlannedSession[] | undefined> {
  const { file, array } = options
  if (file === undefined && command.length === 0)
    throw new UsageError('Give the command after --, or a --file of jobs.')
  if (file === undefined && array === undefined) return undefined
  const jobs = file === undefined ? [{ place: '--array', fields: {}, array: undefined }] : await readJobs(file)
  const given = sessionInput(options, command)
  const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return expandJobs(jobs, stated, { array, isGroup: options.group !== undefined })
}

/** One session to create. */
export interface PlannedSession {
  place: string
  input: CreateSessionInput
  /** Its number in an array. */
  number?: number
  /** How many of its array run at a time; undefined for as many as find a place. */
  atATime?: number | undefined
}

/**
 * Plans the sessions of all jobs, in their order. Options of the command line fill in the fields that a job does not
 * have; variables, labels and the retry policy of both are merged. Each session's number is added to a creation id of
 * the command line, so that repeating the command creates nothing.
 * @throws UsageError
 */
function expandJobs(
  jobs: readonly Job[],
  options: Partial<CreateSessionInput>,
  { array: arrayOfOptions, isGroup }: { array: JobArray | undefined; isGroup: boolean },
): PlannedSession[] {
  if (isGroup && jobs.length > 1 && jobs.some(({ array }) => array !== undefined))
    throw new UsageError('--group: a file with arrays and several jobs is not one group.')
  const all = jobs.flatMap(({ place, fields, array = arrayOfOptions }, at) => {
    const template = { ...together(options, fields), creationId: fields.creationId }
    if (!array) return [{ place, input: template }]
    const creationId = fields.creationId ?? (options.creationId && `${options.creationId}-${at + 1}`)
    const limit =
      array.limit === undefined || isGroup ? {} : concurrencyOf(place, { ...template, creationId }, array.limit)
    return array.numbers.map((number) => ({
      place: `${place}[${number}]`,
      input: { ...limit, ...numbered(template, number) },
      number,
      atATime: isGroup ? array.limit : undefined,
    }))
  })
  return all.map(({ place, input, ...rest }, at) => {
    const { command, creationId = options.creationId && `${options.creationId}-${at + 1}` } = input
    if (!command || command.length === 0)
      throw new UsageError(`${place}: it has no command; there is none after --, too`)
    const name = input.name ?? basename(command[0]!)
    // Uploaded files keep their relative paths.
    const program = input.codeSha256 == null ? ofCaller(command) : [...command]
    return { place, input: { ...input, name, command: program, creationId }, ...rest }
  })
}

/**
 * Returns the fields because of which at most `limit` sessions of an array run at a time: they share a concurrency key,
 * unless the job has its own. It follows from the creation id, so that a repeated command asks for the same sessions.
 */
function concurrencyOf(place: string, job: Partial<CreateSessionInput>, limit: number) {
  const { concurrencyLimit, creationId } = job
  if (concurrencyLimit != null)
    throw new UsageError(`${place}: give either a limit after % or a concurrency limit, not both.`)
  return { concurrencyKey: creationId ?? `array-${randomUUID()}`, concurrencyLimit: limit }
}

function together(options: Partial<CreateSessionInput>, fields: Partial<CreateSessionInput>) {
  return {
    ...options,
    ...fields,
    environ: joined(options.environ, fields.environ, ({ name }) => name),
    secretEnviron: joined(options.secretEnviron, fields.secretEnviron, ({ name }) => name),
    labels: joined(options.labels, fields.labels, ({ key }) => key),
    agentLabels: joined(options.agentLabels, fields.agentLabels, ({ key }) => key),
    mounts: joined(options.mounts, fields.mounts, ({ path }) => path),
    executorOptions: joined(options.executorOptions, fields.executorOptions, ({ key }) => key),
    resourceSlots: joined(options.resourceSlots, fields.resourceSlots, ({ slot }) => slot),
    retryPolicy: fields.retryPolicy ? { ...options.retryPolicy, ...fields.retryPolicy } : options.retryPolicy,
  }
}

type Listed<Item> = readonly Item[] | null | undefined

/** Merges both lists; a later item replaces an earlier one of the same name. */
function joined<Item>(first: Listed<Item>, second: Listed<Item>, name: (item: Item) => string): Item[] | undefined {
  if (!first && !second) return undefined
  return [...new Map([...(first ?? []), ...(second ?? [])].map((item) => [name(item), item])).values()]
}

/** Replaces each `{i}` by the number. */
function numbered<Value>(value: Value, number: number): Value {
  if (typeof value === 'string') return value.replaceAll('{i}', String(number)) as Value
  if (Array.isArray(value)) return (value as unknown[]).map((item) => numbered(item, number)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, numbered(inner, number)])) as Value
}
