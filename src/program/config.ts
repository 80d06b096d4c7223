import leven from 'leven'
import type { z } from 'zod'
import { AGENT_VARIABLES } from './config/agent-variables.ts'
import { API_VARIABLES } from './config/api-variables.ts'
import { RETENTION_VARIABLES, SERVER_VARIABLES, TRACES_VARIABLES } from './config/server-variables.ts'
import type { Documentation, Variable } from './config/values.ts'
import { KERNEL_VARIABLES } from '../domain/session/kernel-environment.ts'

/** All variables of the program. Only this module reads them from the environment. An empty value counts as not set. */

const VARIABLES = {
  ...SERVER_VARIABLES,
  ...RETENTION_VARIABLES,
  ...TRACES_VARIABLES,
  ...API_VARIABLES,
  ...AGENT_VARIABLES,
} satisfies Record<string, Variable<unknown>>

export type Config = { readonly [Key in keyof typeof VARIABLES]: z.output<(typeof VARIABLES)[Key]['schema']> }

/**
 * The documentation of all variables. `--help` prints it, and a test compares it with the table of
 * docs/configuration.md.
 */
export const CONFIGURATION: readonly Documentation[] = Object.values(VARIABLES)

/** The help text, one line per variable. */
export function describeConfiguration(): string {
  const width = Math.max(...CONFIGURATION.map(({ name }) => name.length))
  return CONFIGURATION.map(({ name, meaning, default: value }) => {
    return `  ${name.padEnd(width)}  ${meaning.replaceAll('`', '')} Default: ${value}.`
  }).join('\n')
}

/** Reports all problems of the environment at once. */
export class ConfigurationError extends Error {
  constructor(faults: readonly string[]) {
    super(`The configuration is wrong:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'ConfigurationError'
  }
}

/** @throws ConfigurationError, for misspelt names too. Warnings name variables that nothing reads. */
export function loadConfig(environment: NodeJS.ProcessEnv): { config: Config; warnings: string[] } {
  const faults: string[] = []
  const entries = Object.entries(VARIABLES).map(([key, { name, schema }]) => {
    const result = schema.safeParse(environment[name]?.trim() || undefined)
    if (!result.success) faults.push(...result.error.issues.map(({ message }) => `${name}: ${message}`))
    return [key, result.data]
  })
  const config = Object.fromEntries(entries) as Config
  if ((config.tlsCertFile === undefined) !== (config.tlsKeyFile === undefined)) {
    faults.push('REPRISE_TLS_CERT_FILE, REPRISE_TLS_KEY_FILE: both are needed for TLS, or neither')
  }
  const unknown = unknownVariables(environment)
  const misspelt = unknown.filter(({ isMisspelt }) => isMisspelt)
  faults.push(...misspelt.map(({ name, nearest }) => `${name}: there is no such variable; did you mean ${nearest}?`))
  if (faults.length > 0) throw new ConfigurationError(faults)
  return { config, warnings: unknown.map(warningOf) }
}

/** Warns of each variable that nothing reads. Unlike `loadConfig`, accepts any value and any misspelling. */
export function warnOfUnknownVariables(environment: NodeJS.ProcessEnv): string[] {
  return unknownVariables(environment).map(warningOf)
}

function warningOf({ name, nearest }: UnknownVariable): string {
  const advice = nearest === undefined ? 'docs/configuration.md has all names' : `did you mean ${nearest}?`
  return `${name} is set, but nothing reads it: ${advice}`
}

/** Variables of clients and kernels, which may be set on the same machine. Agents load no code of the client. */
const OF_OTHERS = [
  'REPRISE_URL',
  'REPRISE_TOKEN',
  'REPRISE_PROFILE',
  'REPRISE_CONNECT_TIMEOUT',
  'REPRISE_READ_TIMEOUT',
  'REPRISE_HTTP_RETRIES',
  'REPRISE_NETWORK_RETRY_SECONDS',
  ...Object.keys(KERNEL_VARIABLES),
]

/** Share of letters that may differ in a misspelling: 3 in a name of 12 letters behind the prefix. */
const MISSPELT_SHARE = 1 / 4

interface UnknownVariable {
  name: string
  /** The known name with the most words in common; undefined if none has any. */
  nearest: string | undefined
  /** Whether the name differs from `nearest` in a few letters only. */
  isMisspelt: boolean
}

/** The names of all variables, also of those that clients and kernels read. */
export function knownVariables(): string[] {
  return [...CONFIGURATION.map(({ name }) => name as string), ...OF_OTHERS]
}

function unknownVariables(environment: NodeJS.ProcessEnv): UnknownVariable[] {
  const known = knownVariables()
  const unknown = Object.keys(environment).filter((name) => name.startsWith('REPRISE_') && !known.includes(name))
  return unknown.map((name) => {
    const [byLetters] = known.map((each) => ({ each, distance: leven(name, each) })).toSorted(byDistance)
    const isMisspelt = byLetters!.distance <= Math.max(2, (name.length - 'REPRISE_'.length) * MISSPELT_SHARE)
    if (isMisspelt) return { name, nearest: byLetters!.each, isMisspelt }
    const [byWords] = known.map((each) => ({ each, distance: wordDistance(name, each) })).toSorted(byDistance)
    const hasCommonWord = byWords!.distance < wordsOf(name).length + wordsOf(byWords!.each).length
    return { name, nearest: hasCommonWord ? byWords!.each : undefined, isMisspelt }
  })
}

function byDistance(a: { distance: number }, b: { distance: number }): number {
  return a.distance - b.distance
}

/** The number of words that only one of the two names has. */
function wordDistance(a: string, b: string): number {
  const [ofA, ofB] = [wordsOf(a), wordsOf(b)]
  const common = ofA.filter((word) => ofB.includes(word)).length
  return ofA.length + ofB.length - 2 * common
}

function wordsOf(name: string): string[] {
  return name.split('_').slice(1)
}
