import { chmodSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
}

export function openLease(root: string): Lease {
  const path = join(root, 'lease')
  let counter = Number.parseInt(readControlFile(path) ?? '', 10) || 0
  let writtenAt = Number.NEGATIVE_INFINITY
  let ttl: number | null = null
  let short: number | null = null

  return {
    renew(leftMs) {
      const wanted = Math.floor(leftMs / 1000) - LEASE_SLACK_S
      short = wanted < TTL_MIN_S ? Math.ceil(leftMs / 1000) : null
      if (short !== null) return
      const now = uptimeSeconds()
      if (now - writtenAt < WRITE_INTERVAL_S && ttl !== null && wanted >= ttl - 1) return
      counter += 1
      writeFileSync(`${path}.new`, `${counter} ${Math.floor(Date.now() / 1000)} ${wanted}\n`)
      chmodSync(`${path}.new`, 0o644)
      renameSync(`${path}.new`, path)
      ttl = wanted
      writtenAt = now
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
  }
}
