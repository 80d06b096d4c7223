import { z } from 'zod'
import { jsonOf, wholeNumber } from './values.ts'
import { variable } from './variable.ts'

/** A word that `sbatch` gets as the value of an option. */
const WORD = z.string().regex(/^[A-Za-z0-9_.,:&|*()[\]-]{1,128}$/, 'must be a word as Slurm has them')
const WORDS = z.record(z.string(), WORD)

const word = (name: `REPRISE_${string}`, meaning: string) =>
  variable({ name, default: 'none', meaning, unit: null, schema: WORD.optional() })

/** Of an agent whose executor is `slurm`. */
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
