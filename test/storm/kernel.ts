import type { CreateSessionInput } from '../../src/client/node/index.ts'
import type { Random } from '../support/random.ts'
import type { Terms } from './terms.ts'

/**
 * What sessions of a storm run: a program that writes a line about itself every 100 ms, into a file of its own, until
 * the turns of its attempt are over, and then ends with the code of its attempt. How long a turn takes is one of the
 * storm's terms.
 *
 * Each attempt leaves outputs: a file when it begins, and one with many bytes when it ends. It notes each once all of it
 * is written. The bytes follow from the ids of chain and session, so that the judge knows them, too.
 *
 * A line is `<uptime> <moved uptime> <boot id> <chain> <session> <kernel> <attempt> <what>`: by the machine's clock, and
 * by the one that its agent has. Both are read before the line is written, so that its process lived then; a process
 * lives from its first line to its last. The first line ends with the working directory, which is its agent's.
 */

export interface Kind {
  name: string
  /** Turns and the exit code, by attempt; the last of them is for all later ones, too. */
  attempts: readonly { turns: number; code: number }[]
  maxRetries: number
  /** The time limit, in turns. */
  limit?: number
  /** Must not run twice, whatever fails. */
  once?: boolean
  /** Does not end at SIGTERM. */
  stubborn?: boolean
  clusterSize?: number
  /** Of the file that is written at the end; some by default. */
  bytes?: number
}

/** Repeats the id of the chain, so that later attempts write the same. */
const BYTES = 50_000
/** More than one part of a transfer. */
const BYTES_OF_BULKY = 9_000_000

/** Longer than all faults of a storm together. */
export const FOREVER = 6_000

/** The kind that must not run twice. */
export const ONCE = 'only-once'

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
  { name: 'too-long', attempts: [{ turns: FOREVER, code: 0 }], maxRetries: 1, limit: 50 },
  { name: 'stubborn', attempts: [{ turns: FOREVER, code: 0 }], maxRetries: 1, limit: 50, stubborn: true },
  { name: 'just-in-time', attempts: [{ turns: 35, code: 0 }], maxRetries: 2, limit: 50 },
  {
    name: 'bulky',
    attempts: [
      { turns: 5, code: 7 },
      { turns: 5, code: 0 },
    ],
    maxRetries: 4,
    bytes: BYTES_OF_BULKY,
  },
  { name: ONCE, attempts: [{ turns: 25, code: 6 }], maxRetries: 0, once: true },
  { name: 'pair', attempts: [{ turns: 20, code: 0 }], maxRetries: 4, clusterSize: 2 },
]

const PROGRAM = `
file="$STORM_LINES/$REPRISE_KERNEL_ID.$$.$RANDOM"
read -r boot </proc/sys/kernel/random/boot_id
exec {out}>>"$file" {still}<> <(:)
note() { read -r up rest <"$STORM_UPTIME"; read -r moved rest </proc/uptime; echo "$up $moved $boot $REPRISE_CHAIN_ID $REPRISE_SESSION_ID $REPRISE_KERNEL_ID $REPRISE_ATTEMPT $1" >&$out; }
told() { note told; [ -n "$STORM_STUBBORN" ] || { trap '' TERM; note 'end 143'; exit 143; }; }
trap told TERM
hundredths() { now=$((10#\${moved/./})); }
note "begin $PWD"
hundredths
set -- $STORM_ATTEMPTS
n=$REPRISE_ATTEMPT; [ "$n" -le $# ] || n=$#
turns=\${!n%:*} code=\${!n#*:}
until=$((now + turns * STORM_TURN))
mkdir -p left && echo "$REPRISE_SESSION_ID" >left/first && note first
while [ "$now" -lt "$until" ]; do
  read -r -t 0.1 -u $still
  note alive
  hundredths
done
trap '' TERM
yes "$REPRISE_CHAIN_ID" | head -c "$STORM_BYTES" >"$REPRISE_OUTPUT_DIR/last" && note last
note "end $code"
exit "$code"
`

/** The size of the file that a program writes at its end. */
export function bytesOf(name: string): number {
  return KINDS.find((kind) => kind.name === name)?.bytes ?? BYTES
}

export function sessionOf(
  kind: Kind,
  { lines, uptime, terms, random }: { lines: string; uptime: string; terms: Terms; random: Random },
): CreateSessionInput {
  const environ = [
    { name: 'STORM_LINES', value: lines },
    { name: 'STORM_UPTIME', value: uptime },
    { name: 'STORM_BYTES', value: String(bytesOf(kind.name)) },
    { name: 'STORM_TURN', value: String(terms.turnSeconds * 100) },
    { name: 'STORM_ATTEMPTS', value: kind.attempts.map(({ turns, code }) => `${turns}:${code}`).join(' ') },
    ...(kind.stubborn ? [{ name: 'STORM_STUBBORN', value: 'yes' }] : []),
  ]
  return {
    name: kind.name,
    command: ['bash', '-c', PROGRAM],
    environ,
    resourceSlots: [{ slot: 'cpu', amount: '0.25' }],
    outputs: { paths: ['left/**'] },
    ...(kind.limit !== undefined && { batchTimeout: kind.limit * terms.turnSeconds }),
    ...(kind.once === true && { neverRunTwice: true }),
    ...(kind.clusterSize !== undefined && { clusterSize: kind.clusterSize, clusterMode: 'MULTI_NODE' }),
    retryPolicy: {
      maxRetries: kind.maxRetries,
      retryDelay: random.pick(terms.delaysSeconds),
      backoff: random.pick(['FIXED', 'EXPONENTIAL'] as const),
      maxRetryDelay: terms.delayMaxSeconds,
      jitter: 'RANDOM',
      jitterRatio: 1,
    },
  }
}
