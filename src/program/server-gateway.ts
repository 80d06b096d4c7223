import { createGateway, type ServerGateway } from '../gateway/gateway.ts'
import type { RuntimeParts } from './runtime-parts.ts'

export function serverGateway({ db, wake, topics, lease, secrets, metrics, code, relay }: RuntimeParts): ServerGateway {
  const logged = (kernelId: string) => topics.signal(`logs:${kernelId}`)
  return createGateway({ db, wake, lease, secrets, metrics, code, relay, onAgent: wake.onAgent, logged })
}
