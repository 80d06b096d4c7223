import { statSync, utimesSync } from 'node:fs'
import { z } from 'zod'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { readControlFile, writeControlFile } from '../../control-file.ts'
import type { Outage } from './judge-container.ts'

/** A restart of the engine takes less than this. */
const UNREACHABLE_AFTER_MS = 5_000
const OUTAGES_MAX = 20

/** Label of an agent whose engine does not answer. */
export const UNREACHABLE = { engine: 'unreachable' }

/**
 * Whether the engine answers, and when it was down. Later, perhaps in another instance of the agent, this decides how a
 * container has ended and whether its output is complete. So it is kept in a file, whose modification time shows when
 * the engine last answered.
 */
export interface EngineContact {
  readonly outages: readonly Outage[]
  /** Why the engine cannot be asked at present; null if it answers. */
  readonly silence: string | null
  /** Called when a stream from the engine was cut off: it may have ended. */
  cutOff(): void
  /** Called when it does not answer. */
  silent(why: string): void
  answered(): void
  close(): void
}

interface ContactOptions {
  file: string
  /** Path of the engine's socket, which it creates again when it starts. */
  socket: string
  /** Called when the engine has been silent for some time, and when it answers again. */
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
      log.warn({ error: messageOf(error) }, 'outages of the container engine could not be recorded')
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
      // The engine may have been down since its last answer.
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
    log.warn({ error: messageOf(error) }, `${file} is unreadable: past outages of the container engine are unknown`)
    return []
  }
}

/**
 * Returns the outage that no agent noticed, because none was running. Returns null if the engine has not restarted
 * since its last answer.
 */
function missedOutage(file: string, socket: string): Outage | null {
  const heard = statSync(file, { throwIfNoEntry: false })?.mtime
  const started = statSync(socket, { throwIfNoEntry: false })?.mtime
  return heard === undefined || started === undefined || started <= heard ? null : { from: heard, to: started }
}

/** @returns false if the file does not exist */
function touch(file: string): boolean {
  try {
    utimesSync(file, new Date(), new Date())
    return true
  } catch {
    return false
  }
}
