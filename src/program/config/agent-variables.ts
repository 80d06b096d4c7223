import { hostname } from 'node:os'
import { z } from 'zod'
import { GPU_SHARING_MAX } from '../../domain/limits.ts'
import { CONTAINER_VARIABLES, SLURM_VARIABLES } from './executor-variables.ts'
import {
  absolutePaths,
  bytesOrNone,
  countOrNone,
  gpus,
  labels,
  list,
  slots,
  uidRange,
  variable,
  wholeNumber,
} from './values.ts'

const EXECUTORS = ['process', 'container', 'slurm', 'noop'] as const
const ISOLATION_MODES = ['auto', 'namespaces', 'user', 'none'] as const
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
    meaning:
      'How the agent runs kernels: `process` runs them as processes of its machine, `container` as containers of Docker or Podman, `slurm` as jobs of a Slurm cluster, `noop` runs nothing (for benches).',
    unit: null,
    schema: z.enum(EXECUTORS).default('process'),
  }),
  gpus: variable({
    name: 'REPRISE_GPUS',
    default: 'auto',
    meaning:
      'GPUs that the agent gives to kernels: `auto` (all that `nvidia-smi` or `rocm-smi` shows), `off`, or UUIDs, separated by commas.',
    unit: null,
    schema: gpus().default('auto'),
  }),
  gpuSharing: variable({
    name: 'REPRISE_GPU_SHARING',
    default: 'none',
    meaning:
      'Number of kernels that may share a GPU: sessions can then ask for parts of one, like `0.5` of `cuda.device`. Nothing keeps them from taking more than their part of its memory.',
    unit: null,
    schema: wholeNumber(2, GPU_SHARING_MAX).optional(),
  }),
  isolation: variable({
    name: 'REPRISE_ISOLATION',
    default: 'auto',
    meaning:
      'What keeps the kernels of the process executor from the server, the agent and each other: `namespaces`, `user` (as root: a user id for each project), `none`, or `auto`: the strongest that works. As root, `namespaces` includes `user`.',
    unit: null,
    schema: z.enum(ISOLATION_MODES).default('auto'),
  }),
  isolationUids: variable({
    name: 'REPRISE_ISOLATION_UIDS',
    default: '2000000000-2000065535',
    meaning: 'User and group ids that projects get on this agent, if it is root. No user may have one of them.',
    unit: null,
    schema: uidRange().optional(),
  }),
  isolationHide: variable({
    name: 'REPRISE_ISOLATION_HIDE',
    default: 'none',
    meaning:
      'Further files and directories that kernels must not see, absolute and separated by colons. With `namespaces`, the data directory, the files of this configuration, `/run` and the usual places of credentials in the home directory are always hidden.',
    unit: null,
    schema: absolutePaths().default([]),
  }),
  kernelProcesses: variable({
    name: 'REPRISE_KERNEL_PROCESSES',
    default: '4096',
    meaning: 'Processes and threads that a kernel may have at once, where a cgroup or a user namespace can bound them.',
    unit: 'processes',
    schema: wholeNumber(16, 4_000_000).default(4096),
  }),
  kernelOpenFiles: variable({
    name: 'REPRISE_KERNEL_OPEN_FILES',
    default: '65536',
    meaning: 'Files that each process of a kernel may have open, unless the machine allows fewer.',
    unit: 'files',
    schema: wholeNumber(64, 1_000_000_000).default(65_536),
  }),
  chainsDir: variable({
    name: 'REPRISE_CHAINS_DIR',
    default: '`agent/chains` in the data directory',
    meaning:
      "Directory with what the attempts of chains store (`REPRISE_CHAIN_DIR`), absolute. Agents for which it is the same directory, through a file system that they share, go on with each other's checkpoints. An agent that finds another store there than before does not start.",
    unit: null,
    schema: z.string().regex(/^\//, 'must be an absolute path').optional(),
  }),
  chainBytesMax: variable({
    name: 'REPRISE_CHAIN_BYTES_MAX',
    default: '64g',
    meaning:
      'Disk that the directory of a chain (`REPRISE_CHAIN_DIR`) may take on this agent, or `none`. Attempts of a chain that has more fail with `chain-directory-full`, and are not retried.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: bytesOrNone().default(64 * 1024 ** 3),
  }),
  chainFilesMax: variable({
    name: 'REPRISE_CHAIN_FILES_MAX',
    default: '1000000',
    meaning: 'The same for the number of files and directories in it: a file system has only so many, however small.',
    unit: 'files',
    schema: countOrNone(1_000_000_000).default(1_000_000),
  }),
  agentMemoryLimit: variable({
    name: 'REPRISE_AGENT_MEMORY_LIMIT',
    default: 'auto',
    meaning:
      'How the `mem` limit of kernels is enforced: `cgroup`, `watch` (by polling resident memory), `off`, or `auto`: `cgroup` if it is writable, otherwise `watch`.',
    unit: null,
    schema: z.enum(MEMORY_LIMITS).default('auto'),
  }),
  ...CONTAINER_VARIABLES,
  ...SLURM_VARIABLES,
}
