import { lstatSync, mkdirSync, opendirSync, readlinkSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs'
import { lchown, lstat } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import {
  type CheckpointMark,
  type FoundCheckpoint,
  judgeCheckpoint,
  readFoundCheckpoint,
} from '../../../domain/agent/checkpoint.ts'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { runInBackground } from './chain-size.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import type { ChainHost } from './chain-host.ts'
import { clearPublishFiles, isPublishFile } from './publish-files.ts'

/** Prefix of a directory that was moved aside because a newer checkpoint is on record elsewhere. */
const STALE = '.stale-'

/** Names of this agent's work in progress beside a chain's directory: what it fetches, and what it sends. */
const DRAFT = /^\.(?:new|snap)-[0-9a-f]{12}-/

type OfChain = Pick<KernelSpec, 'chainId' | 'checkpoint'>

/** Returns the directory that the kernels of a chain share in this store. */
export function chainDirectory(host: Pick<ChainHost, 'chainsDir'>, spec: OfChain): string {
  return join(host.chainsDir, chainName(spec.chainId, generationOf(spec)))
}

export function generationOf({ checkpoint }: OfChain): number {
  return checkpoint?.generation ?? 0
}

export function chainName(chainId: string, generation: number): string {
  return generation === 0 ? chainId : `${chainId}.${generation}`
}

/**
 * Returns the chain to which a directory, or a former directory, of this name belongs. For any other name, the result
 * is no valid id.
 */
export function chainOf(name: string): { chainId: string; generation: number } {
  const plain = name.replace(STALE, '').replace(DRAFT, '')
  const [, chainId = '', generation = '0'] = /^(.*?)(?:\.(\d{1,10}))?$/.exec(plain)!
  return { chainId, generation: Number(generation) }
}

export function draftPath(host: ChainHost, spec: OfChain, kind: 'new' | 'snap'): string {
  return join(host.chainsDir, `.${kind}-${ownToken(host)}-${chainName(spec.chainId, generationOf(spec))}`)
}

/** Whether the name belongs to work in progress of this agent's earlier instance. */
export function isOwnDraft(host: ChainHost, name: string): boolean {
  return DRAFT.test(name) && name.split('-')[1] === ownToken(host)
}

/** A token of this agent in names: agents may share the store, and use the same path for it on several machines. */
function ownToken({ registry }: ChainHost): string {
  return createHash('sha256').update(`${hostname()} ${registry.kernelsDir}`).digest('hex').slice(0, 12)
}

/**
 * Prepares the directory for an attempt, which owns it from here on. Everything up to the change of its owner is
 * synchronous, so that kernels of one session do not interfere. After a crash the next launch continues: the mark is
 * written last.
 *
 * @param owner to whom it must belong; null for the agent's own user
 * @returns what earlier attempts have left in it
 */
export async function openChainDirectory(
  host: ChainHost,
  spec: KernelSpec,
  owner: Owner | null,
): Promise<FoundCheckpoint | null> {
  const path = chainDirectory(host, spec)
  const found = takeChainDirectory(host, spec, path)
  if (owner !== null) await handOver(path, owner)
  return found
}

/**
 * Decides what the directory is for this attempt. `wanted` is false if the attempt has already taken it, or needs no
 * other checkpoint.
 */
export function judgeChain(host: ChainHost, spec: KernelSpec) {
  const path = chainDirectory(host, spec)
  const mark = readChainMark(path)
  const judged = judgeCheckpoint({
    attempt: spec.attempt,
    isFirstKernel: isFirstKernel(spec),
    offer: spec.checkpoint,
    store: host.chainStore,
    mark,
    isEmpty: isEmpty(path),
  })
  const lacks = judged.found?.state === 'MISSING' && !judged.isTaken
  const wanted = lacks && spec.checkpoint?.newest?.relayed === true
  return { ...judged, mark, path, wanted }
}

/**
 * Replaces the directory by a fetched checkpoint; the attempt owns it from here on. After a crash between the two
 * steps, the directory belongs to no attempt, and the checkpoint is fetched again.
 */
export function placeFetched(host: ChainHost, spec: KernelSpec, draft: string): void {
  const { wanted, mark, path } = judgeChain(host, spec)
  if (!wanted) return
  if (isEmpty(path)) host.registry.removals.drop(path)
  else moveAside(host, spec, mark?.attempt ?? 0)
  const found = { state: 'FETCHED', attempt: spec.checkpoint!.newest!.attempt } as const
  clearPublishFiles(draft)
  removeChainMark(path)
  renameSync(draft, path)
  writeChainMark(path, { attempt: spec.attempt, found })
}

function takeChainDirectory(host: ChainHost, spec: KernelSpec, path: string): FoundCheckpoint | null {
  const { found, isStale, isTaken, mark } = judgeChain(host, spec)
  if (isStale) moveAside(host, spec, mark?.attempt ?? 0)
  makeDirectory(path)
  if (isTaken) return found
  clearPublishFiles(path)
  writeChainMark(path, { attempt: spec.attempt, found })
  return found
}

/**
 * Creates the directory, but not its parent: if that is missing, for example because a file system is not mounted,
 * nothing must replace it.
 */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !lstatSync(path).isDirectory()) throw error
  }
}

/** Returns the information about its checkpoint that a kernel of an earlier instance got. */
export function foundBefore(host: ChainHost, spec: KernelSpec): FoundCheckpoint | null {
  const mark = readChainMark(chainDirectory(host, spec))
  return mark?.attempt === spec.attempt ? mark.found : null
}

/**
 * Whether the chain's directory is examined and recorded when this kernel ends, which holds for one kernel per session.
 */
export function isFirstKernel({ role, index }: Pick<KernelSpec, 'role' | 'index'>): boolean {
  return role === 'main' && index === 1
}

/**
 * Moves the directory aside. Only the last such directory is kept. If another agent with this store has done the same
 * meanwhile, the name is taken.
 */
function moveAside(host: ChainHost, spec: KernelSpec, attempt: number): void {
  const { chainId } = spec
  const aside = join(host.chainsDir, `${STALE}${chainName(chainId, generationOf(spec))}`)
  host.registry.removals.drop(aside)
  try {
    renameSync(chainDirectory(host, spec), aside)
    host.log.warn({ chainId, attempt, aside }, 'an old checkpoint is moved aside: a newer one is on record elsewhere')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Whether the directory is empty or missing. */
export function isEmpty(path: string): boolean {
  try {
    const directory = opendirSync(path)
    try {
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync())
        if (!isPublishFile(entry.name)) return false
      return true
    } finally {
      directory.closeSync()
    }
  } catch (error) {
    // A directory of the agent's own user may be unreadable because of its mode: then something is in it.
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/**
 * Gives the directory to another user, with all files that earlier attempts left under another isolation. The former
 * user may still run programs that replace files meanwhile, so no link is followed, and only files of that user are
 * given away. A file with further names elsewhere keeps its owner. The directory itself comes last, so that a start
 * after a crash continues here.
 *
 * An empty directory of the agent's own user, as each new one is, needs no program: `find` and `chown` take nearly as
 * long as the rest of a start.
 *
 * @throws if not everything could be handed over
 */
async function handOver(directory: string, { uid, gid }: Owner): Promise<void> {
  const { uid: from } = await lstat(directory)
  if (from === uid) return
  if (from === process.getuid?.() && isEmpty(directory)) return lchown(directory, uid, gid)
  const which = ['-xdev', '-depth', '(', '-type', 'd', '-o', '-links', '1', ')']
  const give = ['-execdir', 'chown', '-h', `--from=${from}`, `${uid}:${gid}`, '{}', '+']
  const { code } = await runInBackground(['find', directory, ...which, ...give])
  if (code !== 0) throw new Error(`the chain's directory could not be handed over from user ${from} to user ${uid}`)
}

/**
 * Removes an empty directory when the chain's last kernel on this machine has ended. Most chains store nothing, and
 * empty directories would accumulate. Synchronous to avoid a race: a kernel is in the registry before it takes the
 * directory. If several agents share the store, the directory may meanwhile belong to another attempt.
 */
export function leaveChain(host: ChainHost, { spec }: KernelEntry): void {
  const path = chainDirectory(host, spec)
  if (isChainNeeded(host, spec.chainId, generationOf(spec)) || (readChainMark(path)?.attempt ?? 0) > spec.attempt)
    return
  try {
    if (isEmpty(path)) clearPublishFiles(path)
    rmdirSync(path)
    removeChainMark(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error
  }
}

/** Whether a kernel here uses that directory of the chain. */
export function isChainNeeded(host: ChainHost, chainId: string, generation: number): boolean {
  return [...host.registry.kernels.values()].some(({ spec, successor }) =>
    [spec, successor?.spec].some((each) => each?.chainId === chainId && generationOf(each) === generation),
  )
}

/**
 * Prefix of a link beside a chain's directory. Its target records which attempt last had the directory, and what it
 * found. It is a link because its target is written in one step.
 */
const MARK = '.attempt-'
const TEXT = /^(?<attempt>[1-9]\d{0,9}) (?<state>NONE|HERE|FETCHED|MISSING) (?<from>\d{0,10})$/

export function readChainMark(directory: string): CheckpointMark | null {
  try {
    const { attempt, state, from } = TEXT.exec(readlinkSync(markPath(directory)))?.groups ?? {}
    if (attempt === undefined) return null
    const found = readFoundCheckpoint({ state, attempt: from === '' ? null : Number(from) })
    return { attempt: Number(attempt), found }
  } catch {
    return null
  }
}

function writeChainMark(directory: string, { attempt, found }: CheckpointMark): void {
  const target = `${attempt} ${found?.state ?? 'NONE'} ${found?.attempt ?? ''}`
  const path = markPath(directory)
  try {
    symlinkSync(target, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const draft = `${path}.${process.pid}`
    rmSync(draft, { force: true })
    symlinkSync(target, draft)
    renameSync(draft, path)
  }
}

export function removeChainMark(directory: string): void {
  rmSync(markPath(directory), { force: true })
}

function markPath(directory: string): string {
  return join(dirname(directory), `${MARK}${basename(directory)}`)
}
