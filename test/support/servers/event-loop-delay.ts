import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { expect } from 'vitest'

/**
 * How long requests may keep all others waiting: the promise itself. It is measured in CPU time of the thread that
 * serves, because this machine has other things to do: a probe that waits for the processor has not waited for a
 * request. What the tests send takes half of it at most, before it is compiled.
 */
const EVENT_LOOP_DELAY_MAX_MS = 250

/** CPU time of `referenceWork` on the machine for which EVENT_LOOP_DELAY_MAX_MS is promised. */
const REFERENCE_WORK_MS = 50

/** The pause between two probes. */
const PAUSE_MS = 2

export interface EventLoopDelay {
  /** Forgets what was until now: the probe in progress may have waited for the test. */
  begin(): Promise<void>
  /** Asserts that since then no probe has waited for longer than EVENT_LOOP_DELAY_MAX_MS, or so much more on a slow machine. */
  expectFree(): void
  stop(): Promise<void>
}

/**
 * Asks for `/healthz` all the time, and finds how much CPU time the server's thread, which is this one unless another is
 * given, spends on something else before it answers.
 */
export function watchEventLoop(url: string, spentMs: () => number = ownThreadTime): EventLoopDelay {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const seen = { worstMs: 0, probes: 0, stopped: false }
  const probing = probe()
  // The error is thrown when the probe is stopped.
  probing.catch(() => {})

  async function probe(): Promise<void> {
    while (!seen.stopped) {
      const before = spentMs()
      await new Promise<void>((resolve, reject) => {
        const asked = request(`${url}/healthz`, { agent }, (response) => response.resume().once('end', resolve))
        asked.once('error', reject).end()
      })
      seen.worstMs = Math.max(seen.worstMs, spentMs() - before)
      seen.probes++
      await pause()
    }
  }

  return {
    async begin() {
      const { probes } = seen
      while (seen.probes < probes + 2) await pause()
      seen.worstMs = 0
    },
    expectFree() {
      if (seen.worstMs >= EVENT_LOOP_DELAY_MAX_MS)
        expect(seen.worstMs).toBeLessThan(EVENT_LOOP_DELAY_MAX_MS * slowness())
    },
    async stop() {
      seen.stopped = true
      await probing
      agent.destroy()
    },
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}

/** The time of the same work on this machine now, divided by that on the reference machine. At least 1. */
function slowness(): number {
  const timesMs = Array.from({ length: 7 }, () => {
    const before = ownThreadTime()
    referenceWork()
    return ownThreadTime() - before
  })
  return Math.max(REFERENCE_WORK_MS, ...timesMs) / REFERENCE_WORK_MS
}

/** Work like that of answering requests: creates many small objects, writes them as JSON and reads them. */
function referenceWork(): void {
  const items = Array.from({ length: 50_000 }, (_, n) => ({
    id: `item-${n}`,
    name: 'x'.repeat(n % 7),
    tags: [n, n + 1],
    nested: { at: n / 3, ok: n % 2 === 0 },
  }))
  JSON.parse(JSON.stringify(items))
}

function ownThreadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** CPU time of the main thread of another process, which is where its event loop is. */
export function threadTimeOf(pid: number): () => number {
  return () => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000
}
