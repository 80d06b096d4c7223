import { z } from 'zod'
import { byteAmount, jsonOf, list, retention, uidRange, variable, volumes, wholeNumber, yesOrNo } from './values.ts'

const PULL_POLICIES = ['missing', 'always', 'never'] as const
const IMAGE = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,510}$/, 'must be the name of an image')
const SHM_BYTES_MAX = 1024 ** 4

/** Variables of an agent whose executor is `container`. */
export const CONTAINER_VARIABLES = {
  containerEngine: variable({
    name: 'REPRISE_CONTAINER_ENGINE',
    default: "the first there is of Docker's socket, the user's Podman and root's Podman",
    meaning: 'Socket of the container engine, like `unix:///run/podman/podman.sock`.',
    unit: null,
    schema: z
      .string()
      .regex(/^unix:\/\/\/.+/, 'must be like unix:///var/run/docker.sock')
      .optional(),
  }),
  containerImage: variable({
    name: 'REPRISE_CONTAINER_IMAGE',
    default: 'none',
    meaning: 'Image of sessions that name none. Without it, such sessions fail on this agent.',
    unit: null,
    schema: IMAGE.optional(),
  }),
  containerAllow: variable({
    name: 'REPRISE_CONTAINER_ALLOW',
    default: '`*`',
    meaning:
      'Images that sessions may name, separated by commas; `*` stands for anything, as in `registry.example.com/team/*`. Names are compared as they are given. A registry at a private address is asked only if its host is written out here; with more than one project, name all registries.',
    unit: null,
    schema: list(z.string().min(1, 'must not be empty')).default(['*']),
  }),
  containerPull: variable({
    name: 'REPRISE_CONTAINER_PULL',
    default: 'missing',
    meaning: 'When images are pulled: `missing` (unless they are there), `always`, or `never`.',
    unit: null,
    schema: z.enum(PULL_POLICIES).default('missing'),
  }),
  containerImageKeep: variable({
    name: 'REPRISE_CONTAINER_IMAGE_KEEP',
    default: '7d',
    meaning:
      "How long an image that the agent has pulled is kept after its last use, like `12h` or `7d`, or how many such images, like `20`, or both, like `7d,20`; or `forever`. While the engine's disk is more than 90 % full, none is kept that nothing uses, the least recently used going first.",
    unit: 'h, d, w or y; images',
    schema: retention().default({ ageSeconds: 7 * 86_400, count: null }),
  }),
  containerAuthFile: variable({
    name: 'REPRISE_CONTAINER_AUTH_FILE',
    default: 'none',
    meaning:
      "File with credentials of registries, as Docker's `config.json` has them in `auths`; helpers are not asked. It is read at each pull.",
    unit: null,
    schema: z.string().startsWith('/', 'must be an absolute path').optional(),
  }),
  containerNetwork: variable({
    name: 'REPRISE_CONTAINER_NETWORK',
    default: 'default',
    meaning: "Network of containers: `default` (the engine's own), `none`, `host`, or one of the engine by its name.",
    unit: null,
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, "must be a network's name")
      .default('default'),
  }),
  containerUids: variable({
    name: 'REPRISE_CONTAINER_UIDS',
    default: '2000000000-2000065535',
    meaning:
      "User and group ids that projects get in containers and for their files, with root's engine. No user may have one of them.",
    unit: null,
    schema: uidRange().optional(),
  }),
  containerVolumes: variable({
    name: 'REPRISE_CONTAINER_VOLUMES',
    default: 'none',
    meaning:
      'Directories that sessions may ask for by name, as JSON: `{"data": {"source": "/srv/data", "readOnly": true, "projects": ["default"]}}`. `readOnly` is false, and `projects` all, where they are missing.',
    unit: null,
    schema: volumes().default([]),
  }),
  containerRuntime: variable({
    name: 'REPRISE_CONTAINER_RUNTIME',
    default: "the engine's default",
    meaning: 'Runtime of containers, as the engine knows it, like `runsc`.',
    unit: null,
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, "must be a runtime's name")
      .optional(),
  }),
  containerPids: variable({
    name: 'REPRISE_CONTAINER_PIDS',
    default: '1024',
    meaning: 'Processes and threads that a container may have at once.',
    unit: 'processes',
    schema: wholeNumber(16, 4_000_000).default(1_024),
  }),
  containerShm: variable({
    name: 'REPRISE_CONTAINER_SHM',
    default: '64m',
    meaning: 'Size of `/dev/shm` in containers. What is in it counts as memory.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: byteAmount(SHM_BYTES_MAX).default(64 * 1024 ** 2),
  }),
  containerReadonly: variable({
    name: 'REPRISE_CONTAINER_READONLY',
    default: 'true',
    meaning: "Whether the image's files cannot be changed by the program; `/work`, `/chain` and `/tmp` always can.",
    unit: null,
    schema: yesOrNo().default(true),
  }),
  containerParallel: variable({
    name: 'REPRISE_CONTAINER_PARALLEL',
    default: '4',
    meaning: 'Containers that are created or started at a time.',
    unit: 'containers',
    schema: wholeNumber(1, 256).default(4),
  }),
}

/** A word that `sbatch` gets as the value of an option. */
const WORD = z.string().regex(/^[A-Za-z0-9_.,:&|*()[\]-]{1,128}$/, 'must be a word as Slurm has them')
const WORDS = z.record(z.string(), WORD)

const word = (name: `REPRISE_${string}`, meaning: string) =>
  variable({ name, default: 'none', meaning, unit: null, schema: WORD.optional() })

/** Variables of an agent whose executor is `slurm`. */
export const SLURM_VARIABLES = {
  slurmDir: variable({
    name: 'REPRISE_SLURM_DIR',
    default: 'none',
    meaning:
      'Directory of the Slurm executor, absolute: this agent and all nodes of the cluster see it under the same path. It holds what kernels and chains store.',
    unit: null,
    schema: z.string().startsWith('/', 'must be an absolute path').optional(),
  }),
  slurmPartition: word(
    'REPRISE_SLURM_PARTITION',
    "Slurm partition of its jobs; the cluster's default where it is not set.",
  ),
  slurmAccount: word('REPRISE_SLURM_ACCOUNT', 'Slurm account of its jobs.'),
  slurmQos: word('REPRISE_SLURM_QOS', 'Slurm quality of service of its jobs.'),
  slurmConstraint: word('REPRISE_SLURM_CONSTRAINT', 'Features that nodes must have for its jobs.'),
  slurmReservation: word('REPRISE_SLURM_RESERVATION', 'Slurm reservation of its jobs.'),
  slurmAccounts: variable({
    name: 'REPRISE_SLURM_ACCOUNTS',
    default: 'none',
    meaning: 'Slurm accounts of projects, as JSON: `{"genomics":"bio"}`. Other projects have that of the agent.',
    unit: null,
    schema: jsonOf(WORDS).default({}),
  }),
  slurmUsers: variable({
    name: 'REPRISE_SLURM_USERS',
    default: 'none',
    meaning:
      'Unix users of projects, as JSON: `{"genomics":"bio"}`. Their jobs run as that user and its group, and cannot read those of others; other projects are refused. The agent has to be root. Without it, all jobs run as the agent\'s user.',
    unit: null,
    schema: jsonOf(z.record(z.string(), z.string())).default({}),
  }),
  slurmGres: variable({
    name: 'REPRISE_SLURM_GRES',
    default: '{"cuda.device":"gpu"}',
    meaning: 'Resource slots that are generic resources of Slurm, as JSON.',
    unit: null,
    schema: jsonOf(WORDS).default({ 'cuda.device': 'gpu' }),
  }),
  slurmQueue: variable({
    name: 'REPRISE_SLURM_QUEUE',
    default: '1.25',
    meaning:
      'Slots that the agent offers, as a multiple of what the usable nodes have: how much more than fits waits in Slurm, which chooses among it. The rest waits in Reprise.',
    unit: null,
    schema: z.coerce
      .number()
      .min(1, 'must be a number from 1 to 100')
      .max(100, 'must be a number from 1 to 100')
      .default(1.25),
  }),
  slurmQueueJobs: variable({
    name: 'REPRISE_SLURM_QUEUE_JOBS',
    default: '1000',
    meaning: 'Jobs of this agent that Slurm has at a time, at most.',
    unit: 'jobs',
    schema: wholeNumber(1, 1_000_000).default(1_000),
  }),
  slurmPollMs: variable({
    name: 'REPRISE_SLURM_POLL_MS',
    default: '5000',
    meaning: 'Time between two calls of `squeue`, which asks for all jobs at once.',
    unit: 'milliseconds',
    schema: wholeNumber(500, 600_000).default(5_000),
  }),
  slurmCapacityMs: variable({
    name: 'REPRISE_SLURM_CAPACITY_MS',
    default: '60000',
    meaning:
      'Time between two calls of `sinfo`, which tells what the partition has. The agent registers again when that has changed by more than a twentieth.',
    unit: 'milliseconds',
    schema: wholeNumber(500, 3_600_000).default(60_000),
  }),
  slurmImages: variable({
    name: 'REPRISE_SLURM_IMAGES',
    default: 'none',
    meaning:
      'Images of the Slurm executor, as JSON: `{"cuda":{"prolog":["module load cuda"],"environ":{},"interpreter":[],"sbatch":[]}}`. `prolog` has lines of shell that run before the command, `sbatch` further arguments.',
    unit: null,
    schema: jsonOf(
      z.record(
        z.string(),
        z.strictObject({
          environ: z.record(z.string(), z.string()).default({}),
          interpreter: z.array(z.string()).default([]),
          prolog: z.array(z.string()).default([]),
          sbatch: z.array(z.string()).default([]),
        }),
      ),
    ).default({}),
  }),
  slurmArgs: variable({
    name: 'REPRISE_SLURM_ARGS',
    default: 'none',
    meaning: 'Further arguments of `sbatch`, as a JSON list; they come last.',
    unit: null,
    schema: jsonOf(z.array(z.string().startsWith('--'))).default([]),
  }),
}
