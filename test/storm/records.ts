import { appendFileSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Terms } from './terms.ts'

/**
 * What a storm leaves for the judge, in `<directory>/records`: a line for each event, as JSON, written at once, so that
 * nothing is lost with the process that wrote it. Times are of two kinds: `up` is the machine's uptime in seconds,
 * which nobody can set and all processes share; `wall` is the process's wall clock in milliseconds, which the database
 * has, too, unless its clock was moved.
 */

export interface Moment {
  up: number
  wall: number
}

export function now(): Moment {
  return { up: uptime(), wall: Date.now() }
}

export function uptime(): number {
  return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'))
}

/** One attempt of a chain, as a client saw it. */
export interface SeenAttempt {
  sessionId: string
  attempt: number
  status: string
  result: string
  exitCode: number | null
}

/** A request that a client sent, and how it ended. `number` ties the two, within a file. */
export type ClientRecord =
  | {
      kind: 'asked'
      number: number
      at: Moment
      call: ClientCall
      creationId?: string
      sessionId?: string
      clientKey?: string
      /** The number of the call whose link is followed. */
      linkOf?: number
    }
  | {
      kind: 'answered'
      number: number
      at: Moment
      /** done: the server says so. refused: with an error of its own. unknown: no answer came. */
      outcome: 'done' | 'refused' | 'unknown'
      sessionId?: string
      /** Of the session in the answer. */
      epoch?: number
      children?: string[]
      attempts?: SeenAttempt[]
      /** The session is not there any more. */
      isGone?: boolean
      /** Of a download. */
      httpStatus?: number
      message?: string
    }

export type ClientCall =
  | 'create'
  | 'terminate'
  | 'cancelRetry'
  | 'retryNow'
  | 'resubmit'
  | 'read'
  /** Asks for a link, which is good once and for a minute. */
  | 'link'
  | 'follow'

/** What a subscriber received, in the order in which it did. */
export interface EventRecord {
  cursor: string
  type: string
  sessionId: string
  chainId: string
}

/** What the storm itself did and saw. */
export type StormRecord =
  | { kind: 'fault'; at: Moment; until: Moment; fault: string; target: string }
  /** A process of ours ended. `wanted`: the storm had it killed or stopped. */
  | {
      kind: 'exit'
      at: Moment
      process: string
      wanted: boolean
      status: number | null
      signal: string | null
      log: string[]
    }
  /** How long everything takes. The first record. */
  | { kind: 'terms'; at: Moment; terms: Terms }
  /** From then on some clock may be so far ahead of the machine's; `done`: from then on all of them are. */
  | { kind: 'clock'; at: Moment; aheadMs: number; done: boolean }
  /** All chains had ended, as far as the storm could see; `late` if it gave up waiting. */
  | { kind: 'settled'; at: Moment; late: boolean; waitingFor: string }

export function recorder<Record>(path: string): (record: Record) => void {
  return (record) => appendFileSync(path, `${JSON.stringify(record)}\n`)
}

/** A last line that was cut off by a SIGKILL is left out. */
export async function readRecords<Record>(path: string): Promise<Record[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record)
}
