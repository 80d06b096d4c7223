import { hostname } from 'node:os'
import { z } from 'zod'
import { collector, labels, list, network, oneOf, retention, slots, wholeNumber, yesOrNo } from './config-values.ts'
import { parseRetention, type Retention } from './domain/retention.ts'
import { LOG_LEVELS } from './observability/log.ts'

/** The one reader of the environment. Text that is empty counts as not set. */

interface Documentation {
  name: `REPRISE_${string}` | `OTEL_${string}`
  /** As people read it. */
  default: string
  meaning: string
  /** Null where it is no quantity. */
  unit: string | null
}

interface Variable<T> extends Documentation {
  schema: z.ZodType<T>
}

const ROLES = ['api', 'scheduler', 'agent'] as const
const LOG_FORMATS = ['pretty', 'json'] as const
const EXECUTORS = ['process', 'noop'] as const
const MEMORY_LIMITS = ['auto', 'cgroup', 'watch', 'off'] as const

const VARIABLES = {
  databaseUrl: variable({
    name: 'REPRISE_DATABASE_URL',
    default: 'embedded',
    meaning:
      'PostgreSQL server to use, `postgresql://user:password@host:port/database`. Without it, one is started under the data directory.',
    unit: null,
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional(),
  }),
  databaseConnections: variable({
    name: 'REPRISE_DATABASE_CONNECTIONS',
    default: '16',
    meaning: 'Maximum number of connections that the server opens to the database.',
    unit: 'connections',
    schema: wholeNumber(2, 1_000).default(16),
  }),
  dataDir: variable({
    name: 'REPRISE_DATA_DIR',
    default: '.reprise',
    meaning: "Directory of the embedded database, the admin token and the embedded agent's kernels.",
    unit: null,
    schema: z.string().default('.reprise'),
  }),
  discoveryDir: variable({
    name: 'REPRISE_DISCOVERY_DIR',
    default: 'none',
    meaning:
      'Directory in which this server keeps `prometheus.json` and `traefik.yml` up to date with the healthy replicas of all deployments. Without it, no files are written.',
    unit: null,
    schema: z.string().optional(),
  }),
  host: variable({
    name: 'REPRISE_HOST',
    default: '127.0.0.1',
    meaning: 'Address to listen on.',
    unit: null,
    schema: z.string().default('127.0.0.1'),
  }),
  port: variable({
    name: 'REPRISE_PORT',
    default: '4000',
    meaning: 'TCP port to listen on. 0 picks a free one and prints it.',
    unit: null,
    schema: wholeNumber(0, 65_535).default(4000),
  }),
  drainSeconds: variable({
    name: 'REPRISE_DRAIN_SECONDS',
    default: '0',
    meaning: 'How long a server that is told to stop keeps serving while `/readyz` turns load balancers away.',
    unit: 'seconds',
    schema: wholeNumber(0, 3_600).default(0),
  }),
  roles: variable({
    name: 'REPRISE_ROLES',
    default: ROLES.join(),
    meaning:
      'What this process does, separated by commas: `api` serves clients, `scheduler` drives sessions, `agent` runs kernels.',
    unit: null,
    schema: list(z.enum(ROLES)).default([...ROLES]),
  }),
  logLevel: variable({
    name: 'REPRISE_LOG_LEVEL',
    default: 'info',
    meaning: `Lowest level to log: ${oneOf(LOG_LEVELS)}.`,
    unit: null,
    schema: z.enum(LOG_LEVELS).default('info'),
  }),
  logFormat: variable({
    name: 'REPRISE_LOG_FORMAT',
    default: 'pretty on a terminal, else json',
    meaning: `${oneOf(LOG_FORMATS)}. Logs go to standard error.`,
    unit: null,
    schema: z.enum(LOG_FORMATS).default(() => (process.stderr.isTTY ? 'pretty' : 'json')),
  }),
  metricsPublic: variable({
    name: 'REPRISE_METRICS_PUBLIC',
    default: 'false',
    meaning:
      'Whether `/metrics` is served without a token: `true` or `false`. If not, it needs the token of an ADMIN or a VIEWER.',
    unit: null,
    schema: yesOrNo().default(false),
  }),
  keepChains: kept({
    name: 'REPRISE_KEEP_CHAINS',
    default: 'forever',
    meaning:
      'How long, or how many per project, finished chains are kept, with everything that belongs to them: `90d` (h, d, w, y), `100000`, both separated by a comma, or `forever`. No chain is removed before its events.',
  }),
  keepEvents: kept({
    name: 'REPRISE_KEEP_EVENTS',
    default: '30d',
    meaning: 'The same for events. A subscription with an older cursor is told that it has expired.',
  }),
  keepLogs: kept({
    name: 'REPRISE_KEEP_LOGS',
    default: '90d',
    meaning: 'The same for the output of kernels, counted in chunks of up to 64 KiB.',
  }),
  keepAudit: kept({ name: 'REPRISE_KEEP_AUDIT', default: '400d', meaning: 'The same for the audit log.' }),
  keepAgentHistory: kept({
    name: 'REPRISE_KEEP_AGENT_HISTORY',
    default: '90d',
    meaning: 'The same for the history of agents.',
  }),
  tracesExporter: variable({
    name: 'OTEL_TRACES_EXPORTER',
    default: '`otlp` where an endpoint is set, else `none`',
    meaning: 'Where traces go: `otlp` or `none`.',
    unit: null,
    schema: z.enum(['otlp', 'none'], { error: 'must be `otlp` or `none`' }).optional(),
  }),
  tracesEndpoint: variable({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: 'http://localhost:4318',
    meaning: 'Collector that receives traces over OTLP/HTTP, as JSON at `/v1/traces`.',
    unit: null,
    schema: collector().optional(),
  }),
  tracesOwnEndpoint: variable({
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    default: 'none',
    meaning: 'The same with its full path, for traces only.',
    unit: null,
    schema: collector().optional(),
  }),
  tracesDisabled: variable({
    name: 'OTEL_SDK_DISABLED',
    default: 'false',
    meaning: '`true`: no traces, whatever else is set.',
    unit: null,
    schema: yesOrNo().default(false),
  }),
  publicIntrospection: variable({
    name: 'REPRISE_PUBLIC_INTROSPECTION',
    default: 'true on a loopback address, else false',
    meaning: 'Whether the GraphQL schema can be introspected without a token: `true` or `false`.',
    unit: null,
    schema: yesOrNo().optional(),
  }),
  trustedDocuments: variable({
    name: 'REPRISE_TRUSTED_DOCUMENTS',
    default: 'any document',
    meaning:
      'File with the only GraphQL documents to execute: a JSON object of their texts by SHA-256, as written by client builds.',
    unit: null,
    schema: z.string().optional(),
  }),
  webhookAllowNetworks: variable({
    name: 'REPRISE_WEBHOOK_ALLOW_NETWORKS',
    default: 'none',
    meaning: 'Private or otherwise special networks that webhooks may reach nevertheless, like `10.1.0.0/16,fd00::/8`.',
    unit: null,
    schema: list(network()).default([]),
  }),
  resourceGroup: variable({
    name: 'REPRISE_RESOURCE_GROUP',
    default: 'default',
    meaning: 'Resource group that the agent joins.',
    unit: null,
    schema: z.string().default('default'),
  }),
  agentName: variable({
    name: 'REPRISE_AGENT_NAME',
    default: "the machine's name",
    meaning: 'Name of the agent, for people.',
    unit: null,
    schema: z.string().default(() => hostname()),
  }),
  agentAddress: variable({
    name: 'REPRISE_AGENT_ADDRESS',
    default: "the machine's name",
    meaning:
      "Address at which this agent's kernels are reached, by other kernels of a session that spans several agents and by clients of deployments.",
    unit: null,
    schema: z.string().default(() => hostname()),
  }),
  agentLabels: variable({
    name: 'REPRISE_AGENT_LABELS',
    default: 'none',
    meaning: 'Labels of the agent, like `zone=a,gpu=a100`.',
    unit: null,
    schema: labels().default({}),
  }),
  serverUrls: variable({
    name: 'REPRISE_SERVER_URL',
    default: 'none',
    meaning: 'Servers that `reprise agent` may connect to, separated by commas; they share one database.',
    unit: null,
    schema: list(z.url({ protocol: /^https?$/, error: 'must be http:// or https:// URLs' })).default([]),
  }),
  token: variable({
    name: 'REPRISE_TOKEN',
    default: 'none',
    meaning: 'Token of role AGENT with which `reprise agent` authenticates.',
    unit: null,
    schema: z.string().regex(/^\S+$/, 'must be one word').optional(),
  }),
  tokenFile: variable({
    name: 'REPRISE_TOKEN_FILE',
    default: 'none',
    meaning: 'File that holds that token, if `REPRISE_TOKEN` is not set.',
    unit: null,
    schema: z.string().optional(),
  }),
  slots: variable({
    name: 'REPRISE_SLOTS',
    default: 'what the machine has',
    meaning: 'Resource slots that the agent offers, like `cpu=4,mem=8g`.',
    unit: 'per slot; bytes for `mem`, with k, m, g, t (binary)',
    schema: slots().optional(),
  }),
  executor: variable({
    name: 'REPRISE_EXECUTOR',
    default: 'process',
    meaning: 'How the agent runs kernels: `process` runs real processes, `noop` runs nothing (for benches).',
    unit: null,
    schema: z.enum(EXECUTORS).default('process'),
  }),
  agentMemoryLimit: variable({
    name: 'REPRISE_AGENT_MEMORY_LIMIT',
    default: 'auto',
    meaning:
      'How the `mem` limit of kernels is enforced: `cgroup`, `watch` (by polling resident memory), `off`, or `auto`: `cgroup` if it is writable, otherwise `watch`.',
    unit: null,
    schema: z.enum(MEMORY_LIMITS).default('auto'),
  }),
} satisfies Record<string, Variable<unknown>>

export type Config = { readonly [Key in keyof typeof VARIABLES]: z.output<(typeof VARIABLES)[Key]['schema']> }

/** Whether anybody is to hear of traces. */
export function tracesWanted({ tracesExporter, tracesEndpoint, tracesOwnEndpoint, tracesDisabled }: Config): boolean {
  if (tracesDisabled) return false
  return (tracesExporter ?? ((tracesEndpoint ?? tracesOwnEndpoint) ? 'otlp' : 'none')) === 'otlp'
}

/** What the README's table and `--help` print. */
export const CONFIGURATION: readonly Documentation[] = Object.values(VARIABLES)

/** The same for `--help`, one variable after the other. */
export function describeConfiguration(): string {
  const width = Math.max(...CONFIGURATION.map(({ name }) => name.length))
  return CONFIGURATION.map(({ name, meaning, default: value }) => {
    return `  ${name.padEnd(width)}  ${meaning.replaceAll('`', '')} Default: ${value}.`
  }).join('\n')
}

/** Everything that is wrong with the environment, told at once. */
export class ConfigurationError extends Error {
  constructor(faults: readonly string[]) {
    super(`The configuration is wrong:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'ConfigurationError'
  }
}

/** @throws ConfigurationError. Warnings name variables that nothing reads. */
export function loadConfig(environment: NodeJS.ProcessEnv): { config: Config; warnings: string[] } {
  const faults: string[] = []
  const entries = Object.entries(VARIABLES).map(([key, { name, schema }]) => {
    const result = schema.safeParse(environment[name]?.trim() || undefined)
    if (!result.success) faults.push(...result.error.issues.map(({ message }) => `${name}: ${message}`))
    return [key, result.data]
  })
  if (faults.length > 0) throw new ConfigurationError(faults)
  return { config: Object.fromEntries(entries) as Config, warnings: unknownVariables(environment) }
}

/** What clients on the same machine read. */
const OF_CLIENTS = [
  'REPRISE_URL',
  'REPRISE_TOKEN',
  'REPRISE_PROFILE',
  'REPRISE_CONNECT_TIMEOUT',
  'REPRISE_READ_TIMEOUT',
  'REPRISE_HTTP_RETRIES',
  'REPRISE_NETWORK_RETRY_SECONDS',
]

function unknownVariables(environment: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>([...CONFIGURATION.map(({ name }) => name), ...OF_CLIENTS])
  const unknown = Object.keys(environment).filter((name) => name.startsWith('REPRISE_') && !known.has(name))
  return unknown.map((name) => `${name} is set, but nothing reads it`)
}

function variable<T>(options: Variable<T>): Variable<T> {
  return options
}

function kept(documentation: Omit<Documentation, 'unit'>): Variable<Retention> {
  return { ...documentation, unit: null, schema: retention().default(() => parseRetention(documentation.default)!) }
}
