import { hostname } from 'node:os'
import { z } from 'zod'
import { labels, list, slots } from './values.ts'
import { variable } from './variable.ts'

const EXECUTORS = ['process', 'noop'] as const
const MEMORY_LIMITS = ['auto', 'cgroup', 'watch', 'off'] as const

export const AGENT_VARIABLES = {
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
}
