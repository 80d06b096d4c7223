/**
 * The variables that kernels find in their environment, each with its meaning for people; docs/executors.md has
 * the same table. Names that begin with REPRISE_ are refused from clients.
 */
export const KERNEL_VARIABLES = {
  REPRISE_SESSION_ID: "The session's id",
  REPRISE_CHAIN_ID: 'Id of the chain: of its first session',
  REPRISE_ATTEMPT: 'Position in the chain, from 1. Never reset, also not by a resubmission',
  REPRISE_MAX_ATTEMPTS:
    'The position that the chain can reach with what is left of `maxRetries`; never less than `REPRISE_ATTEMPT`. Uncounted retries and resubmissions move it on',
  REPRISE_RETRY_COUNT: 'Retries used of `maxRetries`: 0 for a first attempt, and again after a resubmission',
  REPRISE_RETRY_OF_BUDGET: 'The same beside `maxRetries`, like `1 of 3`',
  REPRISE_PARENT_SESSION_ID: 'Id of the attempt before; empty for the first',
  REPRISE_RETRY_CAUSE: 'Cause of its failure, like `OOM_KILLED`; empty if there is none',
  REPRISE_KERNEL_NAME: 'Name of this kernel: `main1`, `sub1`, `sub2`, …',
  REPRISE_KERNEL_ROLE: '`main` or `sub`',
  REPRISE_KERNEL_INDEX: 'Its number within its role, from 1',
  REPRISE_CLUSTER_MODE: '`SINGLE_NODE` or `MULTI_NODE`',
  REPRISE_CLUSTER_SIZE: "Number of the session's kernels",
  REPRISE_CLUSTER_RANK: 'Position of this one among them, from 0',
  REPRISE_CLUSTER_HOSTS: "Addresses of the kernels' agents, like `main1=10.0.0.4,sub1=10.0.0.5`",
  REPRISE_KERNEL_ID: "The kernel's id",
  REPRISE_CHAIN_DIR: 'A directory that all attempts of the chain share, for [checkpoints](checkpoints.md)',
  REPRISE_CHECKPOINT:
    'What earlier attempts have left in it: `none`, `here`, `fetched` (brought from elsewhere), or `missing` (there was something, and it could not be had)',
  REPRISE_CHECKPOINT_ATTEMPT: 'The attempt that left it, also if it is missing; empty for `none`, and if nobody knows',
  REPRISE_VERDICT_FILE:
    'A file that the program may write to say why it failed ([format](retry-policy.md#what-a-program-says))',
} as const

export type KernelVariable = keyof typeof KERNEL_VARIABLES
