import { statfsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Retention } from '../../../../domain/retention.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import type { Logger } from '../../../../observability/log.ts'
import { readControlFile, writeControlFile } from '../../../control-file.ts'
import { EngineSilentError } from './engine-client.ts'
import type { Engine } from './engine.ts'
import type { ImageDescription } from './engine-answers.ts'

/** Interval of checks, which look only at memory and at the disk's free space, since the disk may fill quickly. */
const SWEEP_INTERVAL_MS = 10_000
const SWEEP_INTERVAL_MIN_MS = 1_000
/** Longest time for which uses of images are lost in a crash. */
const SAVE_INTERVAL_MS = 600_000
/** Share of the engine's disk above which no unused image is kept. */
const FULL = 0.9
/** An image that was looked up within this time may be about to be used. */
const IN_HAND_MS = 5_000

const fileSchema = z.record(z.string(), z.object({ reference: z.string(), usedAt: z.number() }))

/**
 * The images that this agent has pulled and removes again. It removes those that none of its kernels uses, and that are
 * unused for too long, exceed the number to keep, or were used the longest ago while the engine's disk is full.
 * `images.json` lists them by id. Images that may be used by others are never removed: images that existed before, that
 * a crash kept out of the list, or that have another name or a container.
 */
export interface PulledImages {
  /** Looks up an image. None is removed during the look-up, or shortly afterwards. */
  look(ask: () => Promise<ImageDescription | null>): Promise<ImageDescription | null>
  /** @param before the image that had the name until then; null if there was none */
  pulled(image: ImageDescription, reference: string, before: ImageDescription | null): void
  open(): void
  close(): Promise<void>
}

export interface PulledImagesOptions {
  file: string
  keep: Retention
  /** Directory of the engine's images; empty if it does not report it. */
  rootDir: string
  /** Ids of the images that kernels use. */
  inUse(): ReadonlySet<string>
  log: Logger
}

export function openPulledImages(engine: Engine, options: PulledImagesOptions): PulledImages {
  const { file, keep, rootDir, inUse, log } = options
  const images = new Map(Object.entries(readFile(file)))
  const closing = new AbortController()
  const pauseMs = Math.min(
    SWEEP_INTERVAL_MS,
    Math.max(SWEEP_INTERVAL_MIN_MS, (keep.ageSeconds ?? Number.POSITIVE_INFINITY) * 1_000),
  )
  const gate = createGate()
  let sweeping = Promise.resolve()

  let savedAt = performance.now()

  function save(): void {
    savedAt = performance.now()
    try {
      writeControlFile(file, JSON.stringify(Object.fromEntries(images)))
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the list of pulled images could not be written')
    }
  }

  function touch(id: string): void {
    const image = images.get(id)
    if (image !== undefined) image.usedAt = Date.now()
  }

  async function sweepAgain(): Promise<void> {
    while (!closing.signal.aborted) {
      await sleep(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      if (closing.signal.aborted || images.size === 0) continue
      const count = images.size
      await sweep().catch((error: unknown) => {
        if (error instanceof EngineSilentError) return
        log.warn({ error: messageOf(error) }, 'an unused image is not removed yet')
      })
      if (images.size !== count || performance.now() - savedAt > SAVE_INTERVAL_MS) save()
    }
  }

  async function sweep(): Promise<void> {
    const used = inUse()
    for (const id of used) touch(id)
    const now = Date.now()
    const unused = [...images]
      .filter(([id, { usedAt }]) => !used.has(id) && Math.abs(now - usedAt) > IN_HAND_MS)
      .toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    for (const [id, { usedAt }] of unused) {
      const isOld = keep.ageSeconds !== null && now - usedAt > keep.ageSeconds * 1_000
      const isOneTooMany = keep.count !== null && images.size > keep.count
      if (closing.signal.aborted || !(isOld || isOneTooMany || isFull(rootDir))) return
      await gate.alone(() => remove(id, usedAt))
    }
  }

  async function remove(id: string, usedAt: number): Promise<void> {
    const { reference, usedAt: latest } = images.get(id)!
    if (latest !== usedAt) return
    const image = await engine.inspectImage(id)
    const isNamed = image !== null && (await engine.inspectImage(reference))?.id === id
    // An image may have lost its name to a newer one. If it has another name, others may use it.
    if (isNamed || image?.repoTags.length === 0) {
      if (!(await engine.removeImage(isNamed ? reference : id))) return touch(id)
      log.info({ image: reference }, 'an unused image is removed')
    }
    images.delete(id)
  }

  return {
    look: (ask) =>
      gate.together(async () => {
        const found = await ask()
        if (found !== null) touch(found.id)
        return found
      }),
    pulled({ id }, reference, before) {
      if (before?.id === id || (before !== null && !images.has(before.id))) return
      images.set(id, { reference, usedAt: Date.now() })
      save()
    },
    open: () => void (sweeping = sweepAgain()),
    async close() {
      closing.abort()
      await sweeping
      if (images.size > 0) save()
    },
  }
}

function readFile(file: string): z.output<typeof fileSchema> {
  try {
    return fileSchema.parse(JSON.parse(readControlFile(file) ?? '{}'))
  } catch {
    return {}
  }
}

function isFull(dir: string): boolean {
  try {
    const { blocks, bavail } = statfsSync(dir)
    return blocks > 0 && 1 - bavail / blocks > FULL
  } catch {
    return false
  }
}

interface Gate {
  together<T>(work: () => Promise<T>): Promise<T>
  /** Runs the work while no look-up is in progress; look-ups wait meanwhile. */
  alone(work: () => Promise<void>): Promise<void>
}

function createGate(): Gate {
  const state = { under: 0, closed: null as Promise<void> | null, emptied: () => {} }
  return {
    async together(work) {
      while (state.closed !== null) await state.closed
      state.under++
      try {
        return await work()
      } finally {
        if (--state.under === 0) state.emptied()
      }
    },
    async alone(work) {
      const opened = Promise.withResolvers<void>()
      state.closed = opened.promise
      try {
        if (state.under > 0) await new Promise<void>((resolve) => (state.emptied = resolve))
        await work()
      } finally {
        state.closed = null
        opened.resolve()
      }
    },
  }
}
