import leven from 'leven'
import type { z } from 'zod'
import { AGENT_VARIABLES } from './config/agent-variables.ts'
import { API_VARIABLES } from './config/api-variables.ts'
import { RETENTION_VARIABLES, SERVER_VARIABLES, TRACES_VARIABLES } from './config/server-variables.ts'
import type { Documentation, Variable } from './config/values.ts'

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
  faults.push(
    ...unknown.flatMap(({ name, meant }) =>
      meant ? [`${name}: there is no such variable; did you mean ${meant}?`] : [],
    ),
  )
  if (faults.length > 0) throw new ConfigurationError(faults)
  return { config, warnings: unknown.map(({ name }) => `${name} is set, but nothing reads it`) }
}

/** Variables that clients read; they may be set on the same machine. */
const OF_CLIENTS = [
  'REPRISE_URL',
  'REPRISE_TOKEN',
  'REPRISE_PROFILE',
  'REPRISE_CONNECT_TIMEOUT',
  'REPRISE_READ_TIMEOUT',
  'REPRISE_HTTP_RETRIES',
  'REPRISE_NETWORK_RETRY_SECONDS',
]

/** Share of letters that may differ in a misspelling: 3 in a name of 12 letters behind the prefix. */
const MISSPELT_SHARE = 1 / 4

/** Finds unknown variables. `meant`: the known name of which it is probably a misspelling. */
function unknownVariables(environment: NodeJS.ProcessEnv): { name: string; meant: string | undefined }[] {
  const known = [...CONFIGURATION.map(({ name }) => name as string), ...OF_CLIENTS]
  const unknown = Object.keys(environment).filter((name) => name.startsWith('REPRISE_') && !known.includes(name))
  return unknown.map((name) => {
    const [nearest] = known
      .map((candidate) => ({ candidate, distance: leven(name, candidate) }))
      .toSorted((a, b) => a.distance - b.distance)
    const near = nearest!.distance <= Math.max(2, (name.length - 'REPRISE_'.length) * MISSPELT_SHARE)
    return { name, meant: near ? nearest!.candidate : undefined }
  })
}
