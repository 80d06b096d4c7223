import type { SessionEvent } from '../../client/node/index.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Output } from '../output/output.ts'
import { duration, timeOfDay } from '../output/time.ts'

/** The ends of chains, and their resubmissions. */
export const CHAIN_EVENTS: SessionEvent['type'][] = [
  'CHAIN_SUCCEEDED',
  'CHAIN_FAILED',
  'CHAIN_CANCELLED',
  'CHAIN_REOPENED',
]

export function sessionLine(event: SessionEvent, { terminal }: Output, at = timeOfDay): string {
  const { type, fromStatus, toStatus, reason } = event
  const style = toStatus ? statusStyle(toStatus) : undefined
  const move = toStatus && `${fromStatus ?? ''} → ${style ? terminal.style(style, toStatus) : toStatus}`.trim()
  const parts = [terminal.style('dim', at(event.occurredAt)), event.sessionId, type, move, ends(event), reason]
  return parts.filter(Boolean).join('  ')
}

/** `3 attempts, ran 4 m, waited 1 m 20 s` */
function ends({ chainEnd }: SessionEvent): string | null {
  if (!chainEnd) return null
  const { attempts, runningSeconds, waitingSeconds } = chainEnd
  const counted = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  return `${counted}, ran ${duration(runningSeconds)}, waited ${duration(waitingSeconds)}`
}
