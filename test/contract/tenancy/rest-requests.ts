import type { Tenant } from './tenant.ts'

/** Arguments with the ids of what the paths of REST are about; of the others, sessions are. */
const IDS = {
  '/v2/deployments': 'deploymentId',
  '/v2/kernels': 'kernelId',
  '/v2/chains': 'chainId',
  '/v2/agents': 'agentId',
  '/v2/groups': 'groupId',
  '/v2/webhooks': 'webhook.id',
}

export const isBulk = (path: string) => /^.v2.(bulk-actions|resubmissions)/.test(path)

/** A request of REST about something that is the tenant's. */
export function restRequest(ours: Tenant, method: string, template: string): { path: string; body: string | null } {
  const path = template
    .replace('{id}', String(idOf(ours, template)))
    .replace('{scope}/{name}', `project/${ours.project}`)
    .replace('{sha256}', `${String(ours.values['codeSha256'])}?project=${ours.project}`)
  const body = bodyOf(ours, method, template)
  return { path, body: body === undefined ? null : JSON.stringify(body) }
}

function idOf(ours: Tenant, template: string): unknown {
  if (isBulk(template)) return ours.values['resubmissionId']
  if (template.startsWith('/v2/tokens')) return ours.tokenIds[0]
  const [, of = 'sessionId'] = Object.entries(IDS).find(([path]) => template.startsWith(path)) ?? []
  return ours.values[of]
}

function bodyOf({ project, values }: Tenant, method: string, template: string): object | undefined {
  const session = { name: 'x', command: ['true'], project }
  const sessionIds = { session_ids: [values['sessionId']] }
  if (template.startsWith('/v2/schedules/')) return method === 'GET' || method === 'DELETE' ? undefined : {}
  if (template.startsWith('/v2/failure-rules')) return method === 'PUT' ? { rules: [] } : undefined
  if (method === 'PUT') return template.startsWith('/v2/quotas') ? {} : undefined
  if (method === 'PATCH' && template.startsWith('/v2/webhooks')) return {}
  if (method === 'PATCH') return template.endsWith('/retry') ? { policy: { max_retries: 1 } } : { priority: 1 }
  if (method !== 'POST') return undefined
  if (template.endsWith('/wait')) return { timeout: 0, ...(template.includes('sessions') && sessionIds) }
  if (isBulk(template) && !template.includes('{')) return sessionIds
  if (template.endsWith('/resubmit') || template.startsWith('/v2/groups')) return {}
  if (template === '/v2/retry-policy/backtest') return { policy: {}, filter: { project } }
  if (template === '/v2/sessions/bulk') return { sessions: [session], group: { name: 'x' } }
  if (template === '/v2/webhooks') return { url: 'https://example.com', event_types: ['*'], project }
  if (template === '/v2/schedules') return { name: 'x', cron: '0 3 * * *', session }
  return template.endsWith('/scale') ? { replicas: 7 } : session
}
