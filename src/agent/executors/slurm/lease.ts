import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { uptimeSeconds } from '../process/proc-stat.ts'
import { readControlFile } from '../../control-file.ts'

/**
 * How long jobs may run on without a word of the agent: `<counter> <written, epoch s> <ttl s>`, replaced in one step.
 * The server treats the agent's kernels as gone a while after its fence. The slack before that is for the keeper: the
 * lease may be written 5 s late, it looks every 2 s at a copy that is at most 2 s old, and gives 5 s of grace.
 */
const LEASE_SLACK_S = 20
const WRITE_INTERVAL_S = 5
/** Shorter ones would run out while a job waits for its first sight of them. */
const TTL_MIN_S = 10
/** The shortest fence of a resource group with which jobs are started. */
const FENCE_MIN_S = LEASE_SLACK_S + TTL_MIN_S

export interface Lease {
  /** For how long the fence has been renewed. */
  renew(leftMs: number): void
  readonly ttlSeconds: number | null
  /** Why no job may be started; null if they may. */
  refusal(): string | null
  /** Resolves once nothing is being written. */
  close(): Promise<void>
}

/** What the server has last said, as of then: one that waits for its turn to be written lasts no longer for it. */
interface Renewal {
  ttl: number
  /** Of this machine's uptime, in seconds. */
  at: number
  epochSeconds: number
}

/** A directory that hangs holds what is being written, and not who has ordered it. */
export function openLease(root: string, log: Logger): Lease {
  const path = join(root, 'lease')
  let counter = Number.parseInt(readControlFile(path) ?? '', 10) || 0
  let writtenAt = Number.NEGATIVE_INFINITY
  let ttl: number | null = null
  let short: number | null = null
  let writing: Promise<void> | null = null
  let next: Renewal | null = null

  function isOnRecord({ at, ttl: wanted }: Renewal): boolean {
    return at - writtenAt < WRITE_INTERVAL_S && ttl !== null && wanted >= ttl - 1
  }

  /** However long the directory takes, the last one that comes meanwhile is written, too. */
  async function writeAll(): Promise<void> {
    for (let renewal = next; renewal !== null; renewal = next) {
      next = null
      if (!isOnRecord(renewal)) await write(renewal)
    }
    writing = null
  }

  async function write(renewal: Renewal): Promise<void> {
    counter += 1
    try {
      await writeFile(`${path}.new`, `${counter} ${renewal.epochSeconds} ${renewal.ttl}\n`)
      await chmod(`${path}.new`, 0o644)
      await rename(`${path}.new`, path)
      ttl = renewal.ttl
      writtenAt = renewal.at
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the lease of the jobs could not be written')
    }
  }

  return {
    renew(leftMs) {
      const wanted = Math.floor(leftMs / 1000) - LEASE_SLACK_S
      short = wanted < TTL_MIN_S ? Math.ceil(leftMs / 1000) : null
      if (short !== null) return
      const renewal = { ttl: wanted, at: uptimeSeconds(), epochSeconds: Math.floor(Date.now() / 1000) }
      if (writing === null && isOnRecord(renewal)) return
      next = renewal
      writing ??= writeAll()
    },
    get ttlSeconds() {
      return ttl
    },
    refusal() {
      if (short !== null) {
        return `the resource group's fence of ${short} s is too short for Slurm: at least ${FENCE_MIN_S} s are needed`
      }
      return ttl === null ? 'the server has not answered yet' : null
    },
    async close() {
      await writing
    },
  }
}
