import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { createChainDrops } from '../../../src/agent/executors/chain/drop-chains.ts'
import { chainDirectory, leaveChain, openChainDirectory } from '../../../src/agent/executors/chain/chain-directory.ts'
import type { ChainHost } from '../../../src/agent/executors/chain/chain-host.ts'
import { leftCheckpoint } from '../../../src/agent/executors/chain/look-at-checkpoint.ts'
import { pullCheckpoint } from '../../../src/agent/executors/chain/pull-checkpoint.ts'
import { relayAtEnd } from '../../../src/agent/executors/chain/relay-checkpoint.ts'
import { createKernelRegistry } from '../../../src/agent/executors/kernels/kernel-registry.ts'
import type { KernelSteps } from '../../../src/agent/executors/kernels/kernel-steps.ts'
import { hasEnded, newKernelEntry, type KernelEntry } from '../../../src/agent/executors/kernels/kernel-entry.ts'
import { openChainStore } from '../../../src/agent/executors/chain/chain-store.ts'
import { ArchiveError } from '../../../src/archive/archive-entry.ts'
import type { ChainReport, Gateway } from '../../../src/domain/agent/protocol.ts'
import { eventually } from '../../support/eventually.ts'

/** The fate of a checkpoint on its way to the servers. HELD: it is sent once it is released. */
export type Sending = 'WHOLE' | 'LOST' | 'HELD'

/** A program begins. */
export interface Beginning {
  kernel: KernelEntry
  /** The attempt whose files are in the directory; null for none. */
  content: string | null
}

const never = new AbortController().signal
const log = pino({ enabled: false })

/**
 * An agent whose registry of kernels, directories of chains and copies are those that ship. A test says when what runs in
 * a kernel ends, and what it leaves.
 */
export function storingAgent(options: {
  gateway: Gateway
  name: string
  /** Agents that name one directory have one store. */
  chainsDir: string
  agentDir: string
  began(beginning: Beginning): void
  /** A copy has come when a newer one was on record. */
  late(): void
}) {
  const { gateway, name, chainsDir, agentDir, began, late } = options
  const agentId = randomUUID()
  const instanceId = randomUUID()
  const chainStore = openChainStore({ dir: chainsDir, agentDir, byHand: true })
  const kernelsDir = join(agentDir, 'kernels')
  /** By kernel and assignment. */
  const held = new Map<string, () => void>()
  /** Those whose copy has come but was not recorded yet. */
  const sent = new Set<string>()
  const keyOf = ({ kernelId, assignment }: { kernelId: string; assignment: number }) => `${kernelId} ${assignment}`
  let sending: Sending = 'WHOLE'
  let sequence = 0

  const host: ChainHost = {
    chainsDir,
    chainStore,
    get registry() {
      return registry
    },
    limits: { chainBytes: null, chainFiles: null },
    tooLarge: new Map(),
    publishing: new Map(),
    relay: {
      async offer(request, signal) {
        if (sending === 'LOST') throw new ArchiveError('it is lost')
        const wish = await gateway.offerCheckpoint({ agentId, ...request }, signal)
        if (sent.delete(keyOf(request)) && !wish.recorded) late()
        return wish
      },
      blobs: {
        have: (request, signal) => gateway.haveBlobs({ agentId, ...request }, signal),
        async send(request, body, signal) {
          if (sending === 'HELD') await new Promise<void>((resolve) => held.set(keyOf(request), resolve))
          const answer = await gateway.sendParts({ agentId, ...request }, body, signal)
          sent.add(keyOf(request))
          return answer
        },
        fetch: (request, signal) => gateway.fetchBlob({ agentId, offset: 0, ...request }, signal),
      },
    },
    log,
  }

  const steps: KernelSteps<KernelEntry> = {
    create: newKernelEntry,
    async prepare(kernel) {
      mkdirSync(kernel.path, { recursive: true })
      if (await pullCheckpoint(host, kernel, null)) await registry.prepared(kernel)
    },
    async launch(kernel) {
      kernel.found = await openChainDirectory(host, kernel.spec, null)
      kernel.handedOver = true
      began({ kernel, content: contentOf(kernel) })
      registry.began(kernel, new Date().toISOString())
    },
    stop: (kernel) => end(kernel, 137, null, true),
    isEnding: () => false,
    outsideFault: async () => null,
    leftCheckpoint: (kernel) => leftCheckpoint(host, kernel),
    relayCheckpoint: (kernel) => relayAtEnd(host, kernel),
    settled: () => {},
    removed: (kernel) => leaveChain(host, kernel),
    recover: async () => {},
  }
  const { registry, port } = createKernelRegistry<KernelEntry>({ kernelsDir, shared: false, log }, steps, {
    changed: () => {},
  })
  const drops = createChainDrops(host)

  const stateOf = (kernel: KernelEntry) => join(chainDirectory(host, kernel.spec), 'state')
  const contentOf = (kernel: KernelEntry) =>
    existsSync(stateOf(kernel)) ? readFileSync(stateOf(kernel), 'utf8') : null

  /** @param leaves null: what is there stays as it is */
  function end(kernel: KernelEntry, exitCode: number, leaves: string | null, stopOrdered: boolean): void {
    if (hasEnded(kernel)) return
    if (leaves !== null) writeFileSync(stateOf(kernel), leaves)
    const how = { endedAt: new Date().toISOString(), usage: null, ranSeconds: null, stopOrdered, stopError: null }
    registry.exited(kernel, { exitCode, oomKilled: false, error: null, ...how })
  }

  /** Nothing is under way but what is held. */
  async function settle(): Promise<void> {
    const isUnderWay = ({ id, assignment, phase, endPending, relaying }: KernelEntry) =>
      ['PREPARING', 'PULLING', 'LAUNCHING', 'REMOVED'].includes(phase) ||
      endPending ||
      (relaying && !held.has(`${id} ${assignment}`))
    await eventually(() => ![...registry.kernels.values()].some(isUnderWay), { what: `agent ${name} has settled` })
  }

  function letGo(): void {
    for (const go of held.values()) go()
    held.clear()
  }

  async function sync(chains?: ChainReport): Promise<void> {
    const request = { agentId, instanceId, sequence: ++sequence, observed: port.observe(), logs: [], waitMs: 0 }
    const answer = await gateway.sync({ ...request, ...(chains && { chains }) }, never)
    for (const order of answer.orders) {
      if (order.want === 'PREPARE') port.prepare(order.spec, order.assignment)
      if (order.want === 'START') port.start(order.spec, order.assignment)
      if (order.want === 'STOP') port.stop(order.kernelId, order.assignment, 0)
    }
    for (const { kernelId, assignment } of answer.forget) port.forget(kernelId, assignment)
    for (const chainId of answer.dropChains ?? []) drops.drop(chainId)
    for (const { chainId, before } of answer.dropGenerations ?? []) drops.drop(chainId, before)
    await settle()
  }

  return {
    id: agentId,
    name,
    chainsDir,
    store: chainStore,
    running: () => [...registry.kernels.values()].filter(({ phase }) => phase === 'RUNNING'),
    contentOf,
    async register() {
      const where = { resourceGroup: 'default', address: '', version: '1', slots: { cpu: '4' }, labels: {} }
      await gateway.register({ agentId, instanceId, name, chainStore, ...where }, never)
    },
    sync: () => sync(),
    /** Tells of all directories, and drops what is needed by nobody. */
    async report() {
      const all = await drops.list()
      const later = all.filter(({ oldest }) => oldest > 0).map(({ chainId, oldest }) => [chainId, oldest] as const)
      const chainIds = all.map(({ chainId }) => chainId)
      await sync({ after: null, upTo: null, chainIds, generations: Object.fromEntries(later) })
    },
    async exit(kernel: KernelEntry, exitCode: number, leaves: string | null, how: Sending) {
      sending = how
      end(kernel, exitCode, leaves, false)
      await settle()
      sending = 'WHOLE'
    },
    /** Stops its kernels, as its fence does. */
    async killAll() {
      sending = 'LOST'
      for (const kernel of registry.kernels.values()) registry.stop(kernel, 0)
      await settle()
      sending = 'WHOLE'
    },
    /** Releases the held checkpoints. */
    async release() {
      letGo()
      await settle()
    },
    async close() {
      letGo()
      await port.close()
    },
  }
}

export type StoringAgent = ReturnType<typeof storingAgent>
