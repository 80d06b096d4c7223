import { build, fetchNoting, hasAnsweredWithin } from '../api/login.ts'
import { createStore, type Store } from '../api/store.ts'

/** A component whose code is loaded when it is first needed. */
export interface LazyPart<Component> {
  state: Store<PartState<Component>>
  /** Loads the code, once; resolves when it is loaded or has failed. */
  load: () => Promise<void>
  /** Does the same, but a failure does not change the state. */
  preload: () => Promise<void>
}

export type PartState<Component> =
  | { kind: 'waiting' }
  | { kind: 'loaded'; Component: Component }
  /** `why`: whether the server did not answer, has another version, or sent something that cannot be used. */
  | { kind: 'failed'; why: 'no-answer' | 'other-version' | 'unusable' }

/** Whether a part has failed since the styles were last complete. */
let hasFailed = false

export function lazyPart<Module extends object, Name extends keyof Module>(
  importModule: () => Promise<Module>,
  name: Name,
): LazyPart<Module[Name]> {
  const state = createStore<PartState<Module[Name]>>({ kind: 'waiting' })
  let loading: Promise<void> | null = null
  let again: (() => Promise<Module>) | null = null
  const importNow = async () => {
    if (!hasAnsweredWithin(TRUSTED_FOR_MS) && (await askServer()) === 'no-answer') throw new Error('no answer')
    if (hasFailed) await repairStyles()
    try {
      const module = await (again ?? importModule)()
      state.set({ kind: 'loaded', Component: module[name] })
    } catch (error) {
      hasFailed = true
      again = underNewAddress<Module>(error) ?? again
      throw error
    }
  }
  const importOnce = () => {
    if (state.get().kind === 'loaded') return Promise.resolve()
    return (loading ??= importNow().finally(() => {
      loading = null
    }))
  }
  return {
    state,
    load: () => importOnce().catch(async () => state.set({ kind: 'failed', why: await askServer() })),
    preload: () => importOnce().catch(() => undefined),
  }
}

/** The address in the message of a failed import: Chromium and Firefox name the module. */
const MODULE_ADDRESS = /https?:\S+\.js(?=\?|$|\s)/
let tries = 0

/**
 * Returns a function that imports the module that could not be imported under another address: under the same one,
 * Chromium repeats the failure for ever. It may have failed because the server ended while it was sent. Null if the error
 * does not name the module; such browsers ask the server again.
 */
function underNewAddress<Module>(error: unknown): (() => Promise<Module>) | null {
  const address = MODULE_ADDRESS.exec((error as Error).message)?.[0]
  if (address === undefined) return null
  return () => import(/* @vite-ignore */ `${address}?again=${++tries}`) as Promise<Module>
}

const ANSWERS_WITHIN_MS = 3_000

/**
 * Before a part is imported, the server is asked whether it is there, unless it has just answered, because a failed
 * import costs a message in the browser's console.
 */
const TRUSTED_FOR_MS = 1_000

/** Asks the server whether it is there, and whether it still has the version of this page. */
async function askServer(): Promise<'no-answer' | 'other-version' | 'unusable'> {
  try {
    const { headers } = await fetchNoting('/healthz', { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) })
    // A server that is starting answers without its version, and has no files yet.
    if (!headers.has('x-reprise-build')) return 'no-answer'
    const { loaded, served } = build.get()
    return loaded === served ? 'unusable' : 'other-version'
  } catch {
    return 'no-answer'
  }
}

/** Loads styles again that could not be loaded: the bundler's loader only tries once. */
async function repairStyles(): Promise<void> {
  const broken = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')].filter(
    ({ sheet }) => sheet === null,
  )
  await Promise.all(
    broken.map((link) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const again = document.createElement('link')
      again.rel = 'stylesheet'
      again.crossOrigin = ''
      again.addEventListener('load', () => resolve())
      again.addEventListener('error', () => reject(new Error(`${link.href} could not be loaded`)))
      again.href = link.href
      link.replaceWith(again)
      return promise
    }),
  )
  hasFailed = false
}

const TRIED_EVERY_MS = 2_000
const TRIED_EVERY_MAX_MS = 30_000

/** Tries to load a failed part until it is loaded or the signal is aborted. */
export async function loadWhenPossible(part: LazyPart<unknown>, signal: AbortSignal): Promise<void> {
  for (let pauseMs = TRIED_EVERY_MS; !signal.aborted;) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, pauseMs)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
    if (signal.aborted) return
    await part.load()
    const state = part.state.get()
    if (state.kind === 'loaded') return
    // While the server does not answer, the tries cost it nothing.
    if (state.kind === 'failed' && state.why !== 'no-answer') pauseMs = Math.min(pauseMs * 2, TRIED_EVERY_MAX_MS)
  }
}

/** The parts to preload: dialogs of the modules that the program has run so far. */
const preloaded = new Set<LazyPart<unknown>>()

/** Marks a part for `preloadWhenIdle`. */
export function preloadLater(part: LazyPart<unknown>): void {
  preloaded.add(part)
}

/** Later than a page needs for its own data. */
const IDLE_AFTER_MS = 4_000

/**
 * Loads the dialogs of the open page when nothing else happens, so that they open even if the server does not answer.
 * Does nothing if the browser is asked to save data. @returns a function that ends it
 */
export function preloadWhenIdle(): () => void {
  if ((navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true) return () => undefined
  let isEnded = false
  const preload = async () => {
    for (const part of preloaded) {
      if (isEnded) return
      await part.preload()
    }
  }
  const timer = setTimeout(() => {
    // Safari has no such callback.
    if (typeof requestIdleCallback === 'function') requestIdleCallback(() => void preload())
    else void preload()
  }, IDLE_AFTER_MS)
  return () => {
    isEnded = true
    clearTimeout(timer)
  }
}
