import { statSync, utimesSync } from 'node:fs'
import { z } from 'zod'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { readControlFile, writeControlFile } from '../../control-file.ts'
import type { Outage } from './judge-container.ts'

/** A restart of the engine takes less. */
const UNREACHABLE_AFTER_MS = 5_000
const OUTAGES_MAX = 20

/** What the agent's labels say of an engine that does not answer. */
export const UNREACHABLE = { engine: 'unreachable' }

/**
 * Whether the engine answers, and when it was down. How a container has ended, and whether its output is whole, is
 * asked of that later, maybe by another instance of the agent: so it stands in a file, whose own time says when the
 * engine was last heard.
 */
export interface EngineContact {
  readonly outages: readonly Outage[]
  /** Why the engine cannot be asked at present; null if it answers. */
  readonly silence: string | null
  /** It may have ended: what listened to it was cut off. */
  cutOff(): void
  /** It does not answer. */
  silent(why: string): void
  answered(): void
  close(): void
}

interface ContactOptions {
  file: string
  /** Of the engine, which makes it anew when it is started. */
  socket: string
  /** It answers no more, for some time, or does again. */
  changed(labels: Record<string, string>): void
  log: Logger
}

const schema = z.object({
  outages: z.array(z.object({ from: z.coerce.date(), to: z.coerce.date().nullable() })),
})

export function openEngineContact({ file, socket, changed, log }: ContactOptions): EngineContact {
  const outages = readOutages(file, log)
  const missed = missedOutage(file, socket)
  if (missed !== null && outages.at(-1)?.to !== null) add(missed)
  let silence: string | null = null
  let timer: NodeJS.Timeout | undefined
  let isUnreachable = false
  let heardAt = new Date()

  function add(outage: Outage): void {
    outages.push(outage)
    outages.splice(0, outages.length - OUTAGES_MAX)
    write()
  }

  function write(): void {
    try {
      writeControlFile(file, `${JSON.stringify({ outages })}\n`)
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'when the container engine was down could not be written down')
    }
  }

  function tell(unreachable: boolean): void {
    clearTimeout(timer)
    timer = undefined
    if (isUnreachable === unreachable) return
    isUnreachable = unreachable
    changed(unreachable ? UNREACHABLE : {})
  }

  return {
    outages,
    get silence() {
      return silence
    },
    cutOff() {
      // It may have been down for as long as it was not heard.
      if (outages.at(-1)?.to !== null) add({ from: heardAt, to: null })
    },
    silent(why) {
      if (silence === null) {
        log.warn({ error: why }, 'the container engine does not answer')
        timer = setTimeout(() => tell(true), UNREACHABLE_AFTER_MS).unref()
      }
      silence = why
    },
    answered() {
      if (silence !== null) log.info('the container engine answers again')
      silence = null
      heardAt = new Date()
      tell(false)
      const last = outages.at(-1)
      if (last?.to === null) last.to = heardAt
      else if (touch(file)) return
      write()
    },
    close: () => clearTimeout(timer),
  }
}

function readOutages(file: string, log: Logger): Outage[] {
  const text = readControlFile(file)
  if (text === null) return []
  try {
    return schema.parse(JSON.parse(text)).outages
  } catch (error) {
    log.warn({ error: messageOf(error) }, `${file} is unreadable: when the container engine was down is not known`)
    return []
  }
}

/** Nobody was there to hear that it ended; null if it has not been started since it was last heard. */
function missedOutage(file: string, socket: string): Outage | null {
  const heard = statSync(file, { throwIfNoEntry: false })?.mtime
  const started = statSync(socket, { throwIfNoEntry: false })?.mtime
  return heard === undefined || started === undefined || started <= heard ? null : { from: heard, to: started }
}

/** @returns false if it is not there */
function touch(file: string): boolean {
  try {
    utimesSync(file, new Date(), new Date())
    return true
  } catch {
    return false
  }
}
