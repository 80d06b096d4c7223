import { z } from 'zod'
import { LOG_LEVELS } from '../../observability/log.ts'
import {
  collector,
  type Documentation,
  list,
  oneOf,
  retention,
  variable,
  type Variable,
  wholeNumber,
  yesOrNo,
} from './values.ts'
import { parseRetention, type Retention } from '../../domain/retention.ts'

const ROLES = ['api', 'scheduler', 'agent'] as const
const LOG_FORMATS = ['pretty', 'json'] as const

export const SERVER_VARIABLES = {
  databaseUrl: variable({
    name: 'REPRISE_DATABASE_URL',
    default: 'embedded',
    meaning:
      'PostgreSQL server to use, `postgresql://user:password@host:port/database`. Without it, one is started under the data directory.',
    unit: null,
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional(),
  }),
  databaseDirectUrl: variable({
    name: 'REPRISE_DATABASE_DIRECT_URL',
    default: 'REPRISE_DATABASE_URL',
    meaning:
      'The same database without a connection pooler in between, where `REPRISE_DATABASE_URL` leads through one in transaction mode, like PgBouncer: for migrations and notifications.',
    unit: null,
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' }).optional(),
  }),
  databaseConnections: variable({
    name: 'REPRISE_DATABASE_CONNECTIONS',
    default: '16',
    meaning:
      'Maximum number of connections that the server opens to the database for the API; background work has as many of its own. One token has at most half of those for the API at a time.',
    unit: 'connections',
    schema: wholeNumber(2, 1_000).default(16),
  }),
  dataDir: variable({
    name: 'REPRISE_DATA_DIR',
    default: '.reprise',
    meaning:
      "Directory of the embedded database, the admin token, the key of secrets and the embedded agent's kernels.",
    unit: null,
    schema: z.string().default('.reprise'),
  }),
  allowUnsafePaths: variable({
    name: 'REPRISE_ALLOW_UNSAFE_PATHS',
    default: 'false',
    meaning:
      'Lets a server or agent that runs as root start although another user can write its code or its data directory, and so become root: `true` or `false`.',
    unit: null,
    schema: z.enum(['true', 'false']).default('false'),
  }),
  secretsKeyFile: variable({
    name: 'REPRISE_SECRETS_KEY_FILE',
    default: 'secrets-key in the data directory',
    meaning:
      'File with the key that encrypts secret environment variables and the secrets of webhooks: 32 bytes in base64. All servers of a database share one. Without it, the first start makes one in the data directory.',
    unit: null,
    schema: z.string().optional(),
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
  advertisedUrl: variable({
    name: 'REPRISE_ADVERTISED_URL',
    default: 'none',
    meaning:
      'URL at which agents reach this very server, past any load balancer: there they open the channels of `reprise exec` and `reprise port-forward`. Without it they look for the server at the addresses that they have.',
    unit: null,
    schema: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }).optional(),
  }),
  tlsCertFile: variable({
    name: 'REPRISE_TLS_CERT_FILE',
    default: 'none',
    meaning:
      'File with the certificate of the server and its chain, in PEM. With it and its key the server speaks TLS; both files are read again when they change.',
    unit: null,
    schema: z.string().optional(),
  }),
  tlsKeyFile: variable({
    name: 'REPRISE_TLS_KEY_FILE',
    default: 'none',
    meaning: 'File with the key of that certificate, in PEM, without a passphrase.',
    unit: null,
    schema: z.string().optional(),
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
  ui: variable({
    name: 'REPRISE_UI',
    default: 'on',
    meaning: 'Whether the web UI is served at `/`: `on` or `off`.',
    unit: null,
    schema: z.enum(['on', 'off']).default('on'),
  }),
  quarantine: variable({
    name: 'REPRISE_QUARANTINE',
    default: 'propose',
    meaning:
      'What happens to agents and GPUs that fail what others finish: `propose` shows advice; `act` also drains such agents and takes such GPUs out of service, at most a tenth of the agents.',
    unit: null,
    schema: z.enum(['propose', 'act']).default('propose'),
  }),
  metricsPublic: variable({
    name: 'REPRISE_METRICS_PUBLIC',
    default: 'false',
    meaning:
      'Whether `/metrics` is served without a token: `true` or `false`. If not, it needs the token of an ADMIN or METRICS without a project.',
    unit: null,
    schema: yesOrNo().default(false),
  }),
}

export const RETENTION_VARIABLES = {
  keepChains: keptVariable({
    name: 'REPRISE_KEEP_CHAINS',
    default: 'forever',
    meaning:
      'How long, or how many per project, finished chains are kept, with everything that belongs to them: `90d` (h, d, w, y), `100000`, both separated by a comma, or `forever`. No chain is removed before its events.',
  }),
  keepEvents: keptVariable({
    name: 'REPRISE_KEEP_EVENTS',
    default: '30d',
    meaning: 'How long to keep events. A subscription that resumes from an older cursor gets an error.',
  }),
  keepLogs: keptVariable({
    name: 'REPRISE_KEEP_LOGS',
    default: '90d',
    meaning: 'The same for the output of kernels, counted in chunks of up to 64 KiB.',
  }),
  keepAudit: keptVariable({ name: 'REPRISE_KEEP_AUDIT', default: '400d', meaning: 'The same for the audit log.' }),
  keepAgentHistory: keptVariable({
    name: 'REPRISE_KEEP_AGENT_HISTORY',
    default: '90d',
    meaning: 'The same for the history of agents.',
  }),
  keepOutputs: keptForVariable({
    name: 'REPRISE_KEEP_OUTPUTS',
    default: '30d',
    meaning:
      'How long outputs are kept if their session names no time: `30d` (h, d, w, y) or `forever`. The newest complete outputs of a chain, and pinned ones, are kept as long as the chain.',
  }),
  checkpointKeep: keptForVariable({
    name: 'REPRISE_CHECKPOINT_KEEP',
    default: '1d',
    meaning:
      'How long the checkpoint of a chain is kept that has succeeded: `1d` (h, d, w, y) or `forever`. It goes with its chain at the latest.',
  }),
  checkpointKeepFailed: keptForVariable({
    name: 'REPRISE_CHECKPOINT_KEEP_FAILED',
    default: '30d',
    meaning: 'The same of a chain that has failed for good or was cancelled, so that a resubmission can go on with it.',
  }),
}

/** A retention that is bounded by age only. */
function keptForVariable(documentation: Omit<Documentation, 'unit'>): Variable<Retention> {
  const age = retention().refine(({ count }) => count === null, 'must be like `90d` or `forever`')
  return { ...documentation, unit: null, schema: age.default(() => parseRetention(documentation.default)!) }
}

function keptVariable(documentation: Omit<Documentation, 'unit'>): Variable<Retention> {
  return { ...documentation, unit: null, schema: retention().default(() => parseRetention(documentation.default)!) }
}

export const TRACES_VARIABLES = {
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
}
