import type { CreateSessionInput } from '../../src/client/node/index.ts'
import type { Random } from '../support/random.ts'

/**
 * What sessions of a storm run: a program that writes a line about itself every 100 ms, into a file of its own, for as
 * many turns as its attempt has, and then ends with the code of its attempt.
 *
 * A line is `<uptime> <boot id> <chain> <session> <kernel> <attempt> <what>`. The time is read before the line is
 * written, so that its process lived then; a process lives from its first line to its last.
 */

export interface Kind {
  name: string
  /** Turns of 100 ms and the exit code, by attempt; the last of them is for all later ones, too. */
  attempts: readonly { turns: number; code: number }[]
  maxRetries: number
  /** Seconds. */
  batchTimeout?: number
  /** Does not end at SIGTERM. */
  stubborn?: boolean
  clusterSize?: number
}

/** Longer than all faults of a storm together. */
const FOREVER = 6_000

export const KINDS: readonly Kind[] = [
  { name: 'succeeds', attempts: [{ turns: 4, code: 0 }], maxRetries: 3 },
  {
    name: 'third-time',
    attempts: [
      { turns: 2, code: 9 },
      { turns: 5, code: 3 },
      { turns: 3, code: 0 },
    ],
    maxRetries: 8,
  },
  { name: 'hopeless', attempts: [{ turns: 2, code: 9 }], maxRetries: 2 },
  { name: 'not-retried', attempts: [{ turns: 1, code: 4 }], maxRetries: 0 },
  {
    name: 'second-time',
    attempts: [
      { turns: 30, code: 1 },
      { turns: 10, code: 0 },
    ],
    maxRetries: 6,
  },
  { name: 'long', attempts: [{ turns: 150, code: 0 }], maxRetries: 6 },
  { name: 'too-long', attempts: [{ turns: FOREVER, code: 0 }], maxRetries: 1, batchTimeout: 5 },
  { name: 'stubborn', attempts: [{ turns: FOREVER, code: 0 }], maxRetries: 1, batchTimeout: 5, stubborn: true },
  { name: 'just-in-time', attempts: [{ turns: 35, code: 0 }], maxRetries: 2, batchTimeout: 5 },
  { name: 'pair', attempts: [{ turns: 20, code: 0 }], maxRetries: 4, clusterSize: 2 },
]

const PROGRAM = `
file="$STORM_LINES/$REPRISE_KERNEL_ID.$$.$RANDOM"
read -r boot </proc/sys/kernel/random/boot_id
exec {out}>>"$file" {still}<> <(:)
note() { read -r up rest </proc/uptime; echo "$up $boot $REPRISE_CHAIN_ID $REPRISE_SESSION_ID $REPRISE_KERNEL_ID $REPRISE_ATTEMPT $1" >&$out; }
told() { note told; [ -n "$STORM_STUBBORN" ] || { trap '' TERM; note 'end 143'; exit 143; }; }
trap told TERM
note begin
set -- $STORM_ATTEMPTS
n=$REPRISE_ATTEMPT; [ "$n" -le $# ] || n=$#
turns=\${!n%:*} code=\${!n#*:}
while [ "$turns" -gt 0 ]; do
  read -r -t 0.1 -u $still
  note alive
  turns=$((turns - 1))
done
trap '' TERM
note "end $code"
exit "$code"
`

/** Seconds before a retry. */
const DELAYS = [0.1, 0.5, 1, 3]
const LONG_DELAYS = [60, 600, 3_600, 6 * 3_600]

export function sessionOf(
  kind: Kind,
  { lines, patient, random }: { lines: string; patient: boolean; random: Random },
): CreateSessionInput {
  const environ = [
    { name: 'STORM_LINES', value: lines },
    { name: 'STORM_ATTEMPTS', value: kind.attempts.map(({ turns, code }) => `${turns}:${code}`).join(' ') },
    ...(kind.stubborn ? [{ name: 'STORM_STUBBORN', value: 'yes' }] : []),
  ]
  return {
    name: kind.name,
    command: ['bash', '-c', PROGRAM],
    environ,
    resourceSlots: [{ slot: 'cpu', amount: '0.25' }],
    ...(kind.batchTimeout !== undefined && { batchTimeout: kind.batchTimeout }),
    ...(kind.clusterSize !== undefined && { clusterSize: kind.clusterSize, clusterMode: 'MULTI_NODE' }),
    retryPolicy: {
      maxRetries: kind.maxRetries,
      retryDelay: random.pick(patient ? LONG_DELAYS : DELAYS),
      backoff: random.pick(['FIXED', 'EXPONENTIAL'] as const),
      maxRetryDelay: patient ? null : 8,
      jitter: 'RANDOM',
      jitterRatio: 1,
    },
  }
}
