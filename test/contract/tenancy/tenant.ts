import { createHash, randomUUID } from 'node:crypto'
import { writeDeploymentEvents } from '../../support/database/outbox.ts'
import { DEFAULT_DOMAIN_ID } from '../../support/sessions/factories.ts'
import type { TestServer } from '../../support/servers/graphql-server.ts'
import type { Values } from './fill-arguments.ts'

/** A tenant with something of everything, and how to know what is its. */
export interface Tenant {
  projectId: string
  project: string
  member: string
  viewer: string
  /** Arguments that name what is its, by the names that arguments have. */
  values: Values
  tokenIds: string[]
  /** Texts that only its people may read, with the ids of what it has. */
  secrets: string[]
  /** Values of environment variables, of everything that has any. */
  environs: string[]
  /** Values of secret variables, of everything that has any: nobody reads them. */
  hidden: string[]
}

export async function createTenant(server: TestServer, name: string): Promise<Tenant> {
  const { db, factory } = server
  const word = (what: string) => `${name}-${what}-${randomUUID().slice(0, 8)}`
  const project = word('project')
  const projectId = await factory.project(project)
  const [member, viewer] = (await Promise.all(
    (['MEMBER', 'VIEWER'] as const).map((role) => factory.token({ role, projectId })),
  )) as [string, string]
  const labels = { team: word('label') }
  const chain = await factory.chain(2, {
    projectId,
    name: word('session'),
    labels,
    status: 'ERROR',
    phase: 'SCHEDULED',
    retryPolicy: { maxRetries: 5 },
  })
  const running = await factory.session({ projectId, name: word('running'), labels, status: 'RUNNING' })
  const session = chain.at(-1)!
  const kernelId = session.kernelIds[0]!
  const texts = {
    log: word('log'),
    environ: word('environ'),
    command: word('command'),
    reason: word('reason'),
    history: word('history'),
  }
  await factory.log(kernelId, texts.log)
  await db.query(
    `UPDATE sessions SET environ = $2, command = ARRAY[$3], status_reason = $4, pending_reason = $4 WHERE project_id = $1`,
    [projectId, JSON.stringify([{ name: 'SECRET', value: texts.environ }]), texts.command, texts.reason],
  )
  await db.query(
    `INSERT INTO scheduling_history (entity, entity_id, phase, result, message) VALUES ('SESSION', $1, 'schedule-sessions', 'SUCCESS', $3), ('KERNEL', $2, 'agent-sync', 'SUCCESS', $3)`,
    [session.id, kernelId, texts.history],
  )
  const codeSha256 = createHash('sha256').update(word('code')).digest('hex')
  await db.query(
    `INSERT INTO code_archives (project_id, sha256, bytes, files, created_by) VALUES ($1, $2, 1024, 1, 'somebody')`,
    [projectId, codeSha256],
  )
  await db.query('UPDATE sessions SET code_sha256 = $2 WHERE project_id = $1', [projectId, codeSha256])
  const deployment = await factory.deployment({ projectId, name: word('service'), labels })
  const route = await factory.route(deployment, { host: word('host') })
  await db.query(`UPDATE deployments SET status_reason = $2 WHERE id = $1`, [deployment.id, texts.reason])
  const resubmission = await answerOf(
    server,
    member,
    'resubmitSessions',
    {
      sessionIds: [chain[0]!.id],
      clientKey: word('key'),
    },
    'ResubmitSessionsPayload',
    'resubmission { resubmissionId }',
  )
  const hidden = {
    session: word('hidden'),
    override: word('hidden'),
    revision: word('hidden'),
    update: word('hidden'),
    schedule: word('hidden'),
  }
  const sealed = (value: string) => [{ name: 'HIDDEN', value }]
  const { session: keeper } = await answerOf(
    server,
    member,
    'createSession',
    { name: word('keeper'), project, command: ['true'], secretEnviron: sealed(hidden.session) },
    'CreateSessionPayload',
    'session { sessionId }',
  )
  await db.query(`UPDATE sessions SET status = 'ERROR', result = 'FAILURE', terminated_at = now() WHERE id = $1`, [
    keeper.sessionId,
  ])
  await db.query(`UPDATE kernels SET status = 'ERROR', slots_held = false WHERE session_id = $1`, [keeper.sessionId])
  const environs = {
    override: word('override'),
    revision: word('revision'),
    update: word('update'),
    schedule: word('schedule'),
  }
  const failed = await factory.session({ projectId, name: word('failed'), status: 'ERROR' })
  const resubmitted = await answerOf(
    server,
    member,
    'resubmitSessions',
    {
      sessionIds: [failed.id, keeper.sessionId],
      overrides: {
        environ: [{ name: 'SECRET', value: environs.override }],
        secretEnviron: sealed(hidden.override),
      },
    },
    'ResubmitSessionsPayload',
    'resubmission { resubmissionId }',
  )
  const served = await answerOf(
    server,
    member,
    'createDeployment',
    {
      name: word('served'),
      project,
      command: ['true'],
      environ: [{ name: 'SECRET', value: environs.revision }],
      secretEnviron: sealed(hidden.revision),
    },
    'CreateDeploymentPayload',
    'deployment { deploymentId }',
  )
  await answerOf(
    server,
    member,
    'updateDeployment',
    {
      deploymentId: served.deployment.deploymentId,
      environ: [
        { name: 'SECRET', value: environs.revision },
        { name: 'SECOND', value: environs.update },
      ],
      secretEnviron: sealed(hidden.update),
    },
    'UpdateDeploymentPayload',
    '__typename',
  )
  const { schedule } = await answerOf(
    server,
    member,
    'createSchedule',
    {
      name: word('schedule'),
      every: 86_400,
      session: {
        name: word('scheduled'),
        project,
        command: [texts.command],
        environ: [{ name: 'SECRET', value: environs.schedule }],
        secretEnviron: sealed(hidden.schedule),
      },
    },
    'CreateSchedulePayload',
    'schedule { scheduleId name }',
  )
  const { group } = await answerOf(
    server,
    member,
    'createSessions',
    {
      group: { name: word('group'), key: word('group-key'), open: true },
      sessions: [{ name: word('member'), project, command: [texts.command] }],
    },
    'CreateSessionsPayload',
    'group { groupId name key }',
  )
  const adviceId = randomUUID()
  const adviceName = word('advice')
  await db.query(
    `INSERT INTO retry_advice (id, project_id, kind, subject, evidence, patch, examples, count, slot_seconds, gib_hours, waste)
     VALUES ($1, $2, 'MEMORY_TOO_HIGH', $5, $3, $4, '{}', 8, 0, 1, 1)`,
    [
      adviceId,
      projectId,
      { name: adviceName, attempts: 8, requestBytes: 2 ** 35, highestBytes: 2 ** 30 },
      { kind: 'REQUEST', name: adviceName, memoryBytes: 2 ** 30 },
      `name ${adviceName}`,
    ],
  )
  const failureGroupId = randomUUID()
  const failureTitle = word('failure-group')
  await db.query(
    `INSERT INTO failure_groups (id, project_id, fingerprint, version, title, lines, masked)
     VALUES ($1, $2, $3, 1, $3, ARRAY[$3], ARRAY[$3])`,
    [failureGroupId, projectId, failureTitle],
  )
  const runId = randomUUID()
  await db.query(
    `INSERT INTO schedule_runs (id, schedule_id, planned_at, last_planned_at, outcome, reason)
     VALUES ($1, $2, now(), now(), 'SKIPPED', $3)`,
    [runId, schedule.scheduleId, texts.reason],
  )
  const { webhook, secret } = await answerOf(
    server,
    member,
    'createWebhook',
    {
      url: `https://example.com/${word('hook')}`,
      eventTypes: ['*'],
      project,
      description: word('webhook'),
    },
    'CreateWebhookPayload',
    'webhook { webhookId url description } secret',
  )
  const { delivery } = await answerOf(
    server,
    member,
    'sendTestEvent',
    { webhookId: webhook.webhookId },
    'SendTestEventPayload',
    'delivery { deliveryId }',
  )
  const { rows: tokens } = await db.query<{ id: string }>('SELECT id FROM api_tokens WHERE project_id = $1', [
    projectId,
  ])
  const userName = word('user')
  const { user } = await answerOf(
    server,
    server.adminToken,
    'createUser',
    { name: userName },
    'CreateUserPayload',
    'user { userId }',
  )
  await answerOf(
    server,
    server.adminToken,
    'setProjectMember',
    { project, user: userName, role: 'MEMBER' },
    'SetProjectMemberPayload',
    '__typename',
  )
  await server.query(
    `mutation { setQuota(input: { scope: PROJECT, name: "${project}", maxPending: 777 }) { __typename } }`,
  )
  const ids = [...chain, running].flatMap(({ id, kernelIds }) => [id, ...kernelIds])
  return {
    projectId,
    project,
    member,
    viewer,
    values: {
      sessionId: session.id,
      sessionIds: [session.id],
      chainId: session.chainId,
      'session.id': session.id,
      'chain.id': session.chainId,
      overridden: resubmitted.resubmission.resubmissionId,
      'resubmission.id': resubmission.resubmission.resubmissionId,
      'resubmissionProgress.id': resubmission.resubmission.resubmissionId,
      resubmissionId: resubmission.resubmission.resubmissionId,
      'bulkAction.id': resubmission.resubmission.resubmissionId,
      'bulkActionProgress.id': resubmission.resubmission.resubmissionId,
      bulkActionId: resubmission.resubmission.resubmissionId,
      deploymentId: deployment.id,
      'deployment.id': deployment.id,
      routeId: route.id,
      runId,
      auditEntryId: (
        await db.query<{ id: string }>('SELECT id::text FROM audit_log WHERE project_id = $1 LIMIT 1', [projectId])
      ).rows[0]!.id,
      'webhook.id': webhook.webhookId,
      'project.by.name': project,
      'user.by.name': userName,
      'domain.by.name': 'default',
      'resourceGroup.name': 'default',
      'queue.resourceGroup': 'default',
      'agent.id': (await db.query<{ id: string }>('SELECT id FROM agents LIMIT 1')).rows[0]!.id,
      groupId: group.groupId,
      adviceId,
      'retryAdvice.scope': 'PROJECT',
      'retryAdvice.name': project,
      failureGroupId,
      left: session.id,
      right: chain[0]!.id,
      'failureGroup.id': failureGroupId,
      failureGroupIds: failureGroupId,
      into: randomUUID(),
      'sessionGroup.id': group.groupId,
      'member.index': 0,
      scheduleId: schedule.scheduleId,
      'schedule.id': schedule.scheduleId,
      reason: texts.reason,
      kernelId,
      codeSha256,
      webhookId: webhook.webhookId,
      deliveryId: delivery.deliveryId,
      tokenId: tokens[0]!.id,
      agentId: (await db.query<{ id: string }>('SELECT id FROM agents LIMIT 1')).rows[0]!.id,
      project,
      projectId,
      userId: user.userId,
      user: userName,
      domainId: DEFAULT_DOMAIN_ID,
      resourceGroup: 'default',
      'chain.sessionId': undefined,
      'quota.name': project,
      scope: 'PROJECT',
    },
    tokenIds: tokens.map(({ id }) => id),
    secrets: [
      userName,
      user.userId,
      project,
      projectId,
      secret,
      webhook.url,
      webhook.description,
      labels.team,
      codeSha256,
      ...Object.values(texts),
      ...Object.values(environs),
      ...ids,
      deployment.id,
      deployment.name,
      route.id,
      route.session.id,
      adviceId,
      adviceName,
      failureGroupId,
      failureTitle,
      group.groupId,
      group.name,
      group.key,
      schedule.scheduleId,
      schedule.name,
      runId,
      resubmission.resubmission.resubmissionId,
      webhook.webhookId,
      delivery.deliveryId,
      ...tokens.map(({ id }) => id),
    ],
    environs: [texts.environ, ...Object.values(environs)],
    hidden: Object.values(hidden),
  }
}

async function answerOf(
  server: TestServer,
  token: string,
  mutation: string,
  input: object,
  payload: string,
  selection: string,
) {
  const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input!`
  const text = `mutation ($input: ${type}) { ${mutation}(input: $input) { __typename ... on ${payload} { ${selection} } ... on Error { code message } } }`
  const { data, errors } = await server.query(text, { input }, token)
  if (data?.[mutation]?.__typename !== payload) throw new Error(JSON.stringify(errors ?? data))
  return data[mutation]
}

/** The secrets of the tenant in the answer; ids that the request itself named may come back. */
export function leaked(answer: unknown, tenant: Tenant, asked: Values): string[] {
  const text = JSON.stringify(answer)
  const said = JSON.stringify(asked)
  return tenant.secrets.filter((secret) => text.includes(secret) && !said.includes(secret))
}

/** Writes an event of every kind about the tenant's things, and wakes the server. */
export async function causeEvents(server: TestServer, { projectId, values }: Tenant): Promise<void> {
  for (const type of ['session.created', 'session.retry_scheduled']) {
    await server.db.query(
      `INSERT INTO session_events (type, session_id, chain_id, project_id, data) VALUES ($1, $2, $3, $4, '{"from": null, "to": "PENDING", "attempt": 1, "maxAttempts": 2}')`,
      [type, values['sessionId'], values['chainId'], projectId],
    )
  }
  const types = ['deployment.status_changed', 'route.status_changed'] as const
  const data = { from: 'HEALTHY', to: 'DEGRADED', reason: values['reason'] }
  const { deploymentId, routeId } = values as Record<string, string>
  await writeDeploymentEvents(
    server.db,
    types.map((type) => ({ type, deploymentId: deploymentId!, routeId: routeId!, projectId, data })),
  )
  server.wake.wake('events')
}
