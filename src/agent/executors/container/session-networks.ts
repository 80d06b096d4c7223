import { setTimeout as sleep } from 'node:timers/promises'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import type { ClusterPlace } from './container-spec.ts'
import { AGENT_LABEL, EngineError, EngineSilentError, SESSION_LABEL } from './engine/engine-client.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineDescription, NetworkDescription } from './engine/engine-answers.ts'

/**
 * Networks for sessions whose kernels are all here. In it, kernels know each other by name. Addresses are assigned by
 * rank and are written in each container's `/etc/hosts`. So a name has the same meaning even before its kernel runs,
 * and no engine needs a name server. The network is removed with the last kernel.
 */
export interface SessionNetworks {
  /**
   * Returns null for a kernel that needs none. @throws EngineError if the engine cannot create one now,
   * EngineSilentError
   */
  join(spec: KernelSpec): Promise<ClusterPlace | null>
  /** Removes networks of sessions that have no kernel here. Never rejects. */
  collect(): Promise<void>
}

const HOSTS = 'REPRISE_CLUSTER_HOSTS' satisfies KernelVariable
const EXISTS = /already (exists|used|being used)|overlaps/i
const CREATE_AGAIN_MS = 200
/** Addresses that no kernel gets: the network's first, the gateway's and the last. */
const RESERVED_ADDRESSES = 3

interface NetworkHost {
  agentId: string
  engine: Engine
  description: EngineDescription
  /** The configured network. Any other than `default` is the administrator's choice. */
  network: string
  log: Logger
  /** Sessions that have kernels here. */
  sessionIds(): ReadonlySet<string>
}

export function createSessionNetworks(host: NetworkHost): SessionNetworks {
  const { agentId, engine, description, log } = host
  const joining = new Map<string, Promise<NetworkDescription | null>>()
  let collecting = Promise.resolve()
  /** Whether there may be unused networks. One that is created during a listing may be missing in it. */
  let left = true

  async function find(sessionId: string): Promise<NetworkDescription | null> {
    const name = `reprise-${sessionId}`
    const labels = { [AGENT_LABEL]: agentId, [SESSION_LABEL]: sessionId }
    for (;;) {
      const found = await engine.inspectNetwork(name)
      if (found !== null) return found
      try {
        const subnet = description.name === 'docker' ? await freeSubnet(engine, `${name}-draft`, labels) : null
        await engine.createNetwork(name, labels, subnet)
      } catch (error) {
        if (error instanceof EngineError && EXISTS.test(error.message)) await sleep(CREATE_AGAIN_MS)
        else throw error
      }
    }
  }

  /** Finds or creates the network, once for all kernels of the session that ask meanwhile. */
  function findOnce(sessionId: string): Promise<NetworkDescription | null> {
    const asked = joining.get(sessionId)
    if (asked !== undefined) return asked
    const found = find(sessionId).finally(() => {
      left = true
      joining.delete(sessionId)
    })
    joining.set(sessionId, found)
    return found
  }

  async function collectOnce(): Promise<void> {
    if (!left) return
    left = false
    try {
      const networks = await engine.listNetworks(`${AGENT_LABEL}=${agentId}`)
      const here = host.sessionIds()
      for (const { name, labels } of networks) {
        if (here.has(labels[SESSION_LABEL] ?? '')) left = true
        else await removeOne(name)
      }
    } catch (error) {
      left = true
      if (!(error instanceof EngineSilentError)) log.debug({ error: messageOf(error) }, 'networks are not removed yet')
    }
  }

  /** @throws EngineSilentError */
  async function removeOne(name: string): Promise<void> {
    try {
      await engine.removeNetwork(name)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      left = true
      log.debug({ network: name, error: error.message }, 'a network is not removed yet')
    }
  }

  return {
    async join(spec) {
      const names = clusterNames(spec)
      if (names.length < 2 || spec.gang?.size !== names.length) return null
      // This requires an administrator's choice: on the machine's network, kernels reach programs that listen only to
      // it.
      if (host.network === 'host') {
        const address = '127.0.0.1'
        return { network: null, address, hosts: names.map((name) => ({ name, address })) }
      }
      if (host.network !== 'default') return null
      const network = await findOnce(spec.sessionId)
      const addresses = addressesOf(network?.subnet ?? '', names.length)
      if (addresses === null) throw new EngineError(0, `${network?.subnet} has no room for ${names.length} kernels`)
      const hosts = names.map((name, rank) => ({ name, address: addresses[rank]! }))
      return { network: network!.name, address: hosts[names.indexOf(ownName(spec))]!.address, hosts }
    },
    collect: () => (collecting = collecting.then(collectOnce)),
  }
}

/**
 * Chooses a subnet, since Docker assigns fixed addresses only in networks with a given subnet. Docker knows which are
 * free.
 */
async function freeSubnet(engine: Engine, draft: string, labels: Record<string, string>): Promise<string | null> {
  await engine.removeNetwork(draft)
  await engine.createNetwork(draft, labels, null)
  const found = await engine.inspectNetwork(draft)
  await engine.removeNetwork(draft)
  return found?.subnet ?? null
}

/** Lists the names `main1`, `sub1`, … in the order of their ranks. */
function clusterNames({ environ }: KernelSpec): string[] {
  const value = environ.find(({ name }) => name === HOSTS)?.value ?? ''
  return value.split(',').flatMap((member) => member.split('=', 1).filter((name) => name !== ''))
}

function ownName({ role, index }: KernelSpec): string {
  return `${role}${index}`
}

/** Lists the first addresses after the gateway's; null if there are too few. @param subnet like `172.18.0.0/16` */
export function addressesOf(subnet: string, count: number): string[] | null {
  const [, network = '', bits = ''] = /^((?:\d+\.){3}\d+)\/(\d+)$/.exec(subnet) ?? []
  if (network === '' || count > 2 ** (32 - Number(bits)) - RESERVED_ADDRESSES) return null
  const first = network.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return Array.from({ length: count }, (_, rank) => {
    const address = first + 2 + rank
    return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')
  })
}
