import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { uptimeSeconds } from '../process/proc-stat.ts'
import { readControlFile } from '../../control-file.ts'

/**
 * Limits how long jobs may run without a sign of the agent. The file has `<counter> <written, epoch s> <ttl s>`, and is
 * replaced in one step. The server treats the agent's kernels as gone some time after its fence. This slack is the time
 * that the keeper needs before that: the lease may be written 5 s late, the keeper looks every 2 s at a copy that is at
 * most 2 s old, and gives 5 s of grace.
 */
const LEASE_SLACK_S = 20
const WRITE_INTERVAL_S = 5
/** A shorter lease could expire before a job has seen it for the first time. */
const TTL_MIN_S = 10
/** Shortest fence of a resource group with which jobs are started. */
const FENCE_MIN_S = LEASE_SLACK_S + TTL_MIN_S

export interface Lease {
  /** Called when the fence has been renewed for this long. */
  renew(leftMs: number): void
  readonly ttlSeconds: number | null
  /** Returns why no job may be started; null if jobs may start. */
  refusal(): string | null
  /** Resolves once no write is in progress. */
  close(): Promise<void>
}

/** The last answer of the server, with its time: waiting for an earlier write does not make the lease last longer. */
interface Renewal {
  ttl: number
  /** Machine uptime in seconds. */
  at: number
  epochSeconds: number
}

/** Opens the lease. If the directory hangs, only the write hangs, not the caller. */
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

  /** Writes the lease until the last renewal is written, however long the directory takes. */
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
