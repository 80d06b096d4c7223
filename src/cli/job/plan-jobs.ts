import { ofCaller, sessionInput, type SessionOptions } from '../options/session-options.ts'
import { UsageError } from '../present-error.ts'
import { type Job, readJobs } from './read-jobs.ts'
import { basename } from 'node:path'
import type { CreateSessionInput } from '../../client/node/index.ts'

/**
 * The sessions that a file or an array describes; undefined if neither is given, and there is one session only.
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
  const jobs = file === undefined ? [{ place: '--array', fields: {}, numbers: undefined }] : await readJobs(file)
  const given = sessionInput(options, command)
  const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return expandJobs(jobs, stated, array)
}

/** One session to create. */
export interface PlannedSession {
  place: string
  input: CreateSessionInput
}

/**
 * The sessions of all jobs, in their order. What a job does not say it has from the options of the command line; what both
 * have, of variables, labels and the retry policy, is put together. A creation id of the command line gets the number of
 * each session, so that the same again creates nothing.
 * @throws UsageError
 */
function expandJobs(
  jobs: readonly Job[],
  options: Partial<CreateSessionInput>,
  arrayOfOptions: readonly number[] | undefined,
): PlannedSession[] {
  const all = jobs.flatMap(({ place, fields, numbers = arrayOfOptions }) => {
    const template = { ...together(options, fields), creationId: fields.creationId }
    if (!numbers) return [{ place, input: template }]
    return numbers.map((number) => ({ place: `${place}[${number}]`, input: numbered(template, number) }))
  })
  return all.map(({ place, input }, at) => {
    const { command, creationId = options.creationId && `${options.creationId}-${at + 1}` } = input
    if (!command || command.length === 0)
      throw new UsageError(`${place}: it has no command; there is none after --, too`)
    const name = input.name ?? basename(command[0]!)
    // What is uploaded lies there as it lies here.
    const program = input.codeSha256 == null ? ofCaller(command) : [...command]
    return { place, input: { ...input, name, command: program, creationId } }
  })
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

/** Of the same name the later. */
function joined<Item>(first: Listed<Item>, second: Listed<Item>, name: (item: Item) => string): Item[] | undefined {
  if (!first && !second) return undefined
  return [...new Map([...(first ?? []), ...(second ?? [])].map((item) => [name(item), item])).values()]
}

/** With the number in the place of each `{i}`. */
function numbered<Value>(value: Value, number: number): Value {
  if (typeof value === 'string') return value.replaceAll('{i}', String(number)) as Value
  if (Array.isArray(value)) return (value as unknown[]).map((item) => numbered(item, number)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, numbered(inner, number)])) as Value
}
