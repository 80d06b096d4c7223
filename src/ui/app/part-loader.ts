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

export function lazyPart<Module extends object, Name extends keyof Module>(
  importModule: () => Promise<Module>,
  name: Name,
): LazyPart<Module[Name]> {
  const state = createStore<PartState<Module[Name]>>({ kind: 'waiting' })
  let loading: Promise<void> | null = null
  const importNow = async () => {
    if (!hasAnsweredWithin(TRUSTED_FOR_MS) && (await askServer()) === 'no-answer') throw new Error('no answer')
    const module = await importModule()
    state.set({ kind: 'loaded', Component: module[name] })
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

/** The loads of files, by path. One that failed is not kept. */
const loads = new Map<string, Promise<void>>()

/**
 * Imports a module after its files are in the browser's cache. A browser repeats a failed import of a file for as long
 * as the page is open; a failed `fetch` can be tried again. The bundler calls this for each `import()`.
 * @param paths the files of the module and of all that it imports, relative to the origin
 * @throws Error if a file cannot be loaded
 */
export async function importWithFiles<Module>(
  importModule: () => Promise<Module>,
  paths: readonly string[] = [],
): Promise<Module> {
  await Promise.all(paths.map((path) => loadFile(`/${path}`)))
  return importModule()
}

function loadFile(path: string): Promise<void> {
  const known = loads.get(path)
  if (known !== undefined) return known
  const load = path.endsWith('.css') ? loadStyles(path) : loadScript(path)
  loads.set(path, load)
  load.catch(() => loads.delete(path))
  return load
}

async function loadScript(path: string): Promise<void> {
  // The page itself has loaded those that it began with.
  if (document.querySelector(`link[href="${path}"], script[src="${path}"]`) === null) await fetchWhole(path)
}

async function loadStyles(path: string): Promise<void> {
  const [before] = [...document.querySelectorAll<HTMLLinkElement>(`link[rel="stylesheet"][href="${path}"]`)]
  if (before !== undefined && before.sheet !== null) return
  await fetchWhole(path)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.crossOrigin = ''
  link.addEventListener('load', () => resolve())
  link.addEventListener('error', () => {
    link.remove()
    reject(new Error(`${path} could not be loaded`))
  })
  link.href = path
  document.head.append(link)
  await promise
}

async function fetchWhole(path: string): Promise<void> {
  const response = await fetch(path)
  if (!response.ok) throw new Error(`The server answered ${path} with ${response.status}`)
  await response.arrayBuffer()
}
