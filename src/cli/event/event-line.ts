import type { SessionEvent } from '../../client/node/index.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Output } from '../output/output.ts'
import { shortId } from '../output/short-id.ts'
import { duration, timeOfDay } from '../output/time.ts'

/** The ends of chains, and their resubmissions. */
export const CHAIN_EVENTS: SessionEvent['type'][] = [
  'CHAIN_SUCCEEDED',
  'CHAIN_FAILED',
  'CHAIN_CANCELLED',
  'CHAIN_REOPENED',
]

interface LineOptions {
  /** Of its chain. */
  name?: string | undefined
  /** Writes its time. */
  at?: (time: string) => string
  /** Sessions that have succeeded: their end is called so. */
  succeeded?: ReadonlySet<string> | undefined
}

export function sessionLine(
  event: SessionEvent,
  { terminal }: Output,
  { name, at = timeOfDay, succeeded }: LineOptions = {},
): string {
  const { type, fromStatus, reason } = event
  const isWell = event.toStatus === 'TERMINATED' && succeeded?.has(event.sessionId) === true
  const toStatus = isWell ? 'SUCCEEDED' : event.toStatus
  const style = toStatus ? statusStyle(toStatus) : undefined
  const move = toStatus && `${fromStatus ?? ''} → ${style ? terminal.style(style, toStatus) : toStatus}`.trim()
  const head = [terminal.style('dim', at(event.occurredAt)), shortId(event.sessionId, terminal), name]
  const parts = [...head, type, move, ends(event), reason]
  return parts.filter(Boolean).join('  ')
}

/** `3 attempts, ran 4 m, waited 1 m 20 s` */
function ends({ chainEnd }: SessionEvent): string | null {
  if (!chainEnd) return null
  const { attempts, runningSeconds, waitingSeconds } = chainEnd
  const counted = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  return `${counted}, ran ${duration(runningSeconds)}, waited ${duration(waitingSeconds)}`
}
