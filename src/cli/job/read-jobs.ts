import { readFileSync } from 'node:fs'
import type { CreateSessionInput } from '../../client/node/index.ts'
import { messageOf } from '../../observability/error-message.ts'
import { mounts } from '../options/session-options.ts'
import { arrayNumbers, future, seconds } from '../options/values.ts'
import { UsageError } from '../present-error.ts'

/** A job in a file: fields of `CreateSessionInput`, and the number of sessions to create from it. */
export interface Job {
  /** Position in the file, for messages. */
  place: string
  fields: Partial<CreateSessionInput>
  /** Numbers that replace `{i}`; undefined for a single session, in which `{i}` is kept. */
  numbers: readonly number[] | undefined
}

type Entry = Readonly<Record<string, unknown>>
type Parse = (value: unknown) => unknown

/** Parsers of the fields, from the forms that people write to the form of the API. */
const FIELDS: Readonly<Record<keyof CreateSessionInput, Parse>> = {
  name: text,
  command: (value) => (typeof value === 'string' ? ['sh', '-c', value] : list(value)),
  codeSha256: text,
  project: text,
  image: text,
  environ: (value) => entries(value, 'name', 'value'),
  secretEnviron: (value) => entries(value, 'name', 'value'),
  labels: (value) => entries(value, 'key', 'value'),
  agentLabels: (value) => entries(value, 'key', 'value'),
  executorOptions: (value) => entries(value, 'key', 'value'),
  mounts: mountList,
  resourceSlots: (value) => entries(value, 'slot', 'amount'),
  batchTimeout: (value) => (typeof value === 'string' ? seconds(value) : value),
  maxPending: (value) => (typeof value === 'string' ? seconds(value) : value),
  startsAt: (value) => future(String(value instanceof Date ? value.toISOString() : value)),
  priority: asItIs,
  resourceGroup: text,
  allowAgents: list,
  avoidAgents: list,
  excludeAgents: list,
  clusterSize: asItIs,
  clusterMode: word,
  sessionType: word,
  dependsOn: list,
  concurrencyKey: text,
  concurrencyLimit: asItIs,
  creationId: text,
  retryPolicy: asItIs,
}

/**
 * Reads the jobs of a file, as JSON Lines or YAML depending on its name; `-` is standard input with JSON Lines. @throws
 * UsageError
 */
export async function readJobs(path: string): Promise<Job[]> {
  const told = (error: unknown) => new UsageError(`--file ${path}: ${messageOf(error)}`)
  let source: string
  try {
    source = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw told(error)
  }
  const read = /\.ya?ml$/i.test(path) ? yamlEntries : jsonEntries
  const found = await read(source).catch((error: unknown) => Promise.reject(told(error)))
  if (found.length === 0) throw told(new Error('it has no jobs'))
  return found.map(({ place, value }) => jobOf(value, `${path}:${place}`))
}

interface Placed {
  /** Number of the line or of the entry. */
  place: number
  value: unknown
}

async function jsonEntries(source: string): Promise<Placed[]> {
  if (/^\s*\[/.test(source)) return (JSON.parse(source) as unknown[]).map((value, at) => ({ place: at + 1, value }))
  return source.split('\n').flatMap((line, at): Placed[] => {
    if (line.trim() === '') return []
    try {
      return [{ place: at + 1, value: JSON.parse(line) as unknown }]
    } catch (error) {
      throw new Error(`line ${at + 1}: ${messageOf(error)}`, { cause: error })
    }
  })
}

/** Reads a list of jobs, or documents of one job each. */
async function yamlEntries(source: string): Promise<Placed[]> {
  const { parseAllDocuments } = await import('yaml')
  const values = [...parseAllDocuments(source)].flatMap((document) => {
    const [error] = 'errors' in document ? document.errors : []
    if (error) throw error
    return document.toJS() as unknown
  })
  return values.filter((value) => value !== null).map((value, at) => ({ place: at + 1, value }))
}

function jobOf(value: unknown, place: string): Job {
  if (!isEntry(value)) throw new UsageError(`${place}: it must be an object`)
  const { array, ...given } = value
  const fields: Record<string, unknown> = {}
  try {
    for (const [name, content] of Object.entries(given)) {
      const parse = Object.hasOwn(FIELDS, name) ? FIELDS[name as keyof typeof FIELDS] : undefined
      if (!parse) throw new Error(`there is no field ${name}, but ${Object.keys(FIELDS).join(', ')} and array`)
      fields[name] = parse(content)
    }
    return {
      place,
      fields,
      numbers:
        array === undefined ? undefined : arrayNumbers(typeof array === 'string' ? array : JSON.stringify(array)),
    }
  } catch (error) {
    throw new UsageError(`${place}: ${messageOf(error)}`)
  }
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses volumes, written like `data:/data:ro` or as in the API. */
function mountList(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return value.map((each: unknown) => (typeof each === 'string' ? mounts(each)[0] : each))
}

function asItIs(value: unknown): unknown {
  return value
}

function text(value: unknown): string {
  return String(value)
}

function word(value: unknown): string {
  return String(value).toUpperCase().replaceAll('-', '_')
}

function list(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error(`${JSON.stringify(value)} is not a list`)
  return value.map(String)
}

/** Parses a list in the form of the API, or an object with names and values. */
function entries(value: unknown, key: string, content: string): unknown {
  if (!isEntry(value)) return value
  return Object.entries(value).map(([name, amount]) => ({ [key]: name, [content]: String(amount) }))
}
