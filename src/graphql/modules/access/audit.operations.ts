import { type AuditRow, readAudit } from '../../../services/access/read-audit.ts'
import { builder } from '../../builder.ts'
import { stableId } from '../../ids.ts'
import { pageComplexity } from '../../paging.ts'
import { DateTimeFilter } from '../filters.inputs.ts'

const AuditEntry = builder.objectRef<AuditRow>('AuditEntry').implement({
  description: 'Something that was done, or refused.',
  fields: (t) => ({
    id: t.id(stableId('AuditEntry', ({ id }: AuditRow) => [id])),
    entryId: t.exposeString('id', { description: 'Its number: greater is newer.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    actor: t.exposeString('actor', {
      description: 'Who, by name: of the token, which is not unique, or of a part of the server.',
    }),
    tokenId: t.expose('tokenId', { type: 'UUID', nullable: true, description: 'The token; null if none asked.' }),
    userId: t.expose('userId', { type: 'UUID', nullable: true, description: 'The user that the token belongs to.' }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: 'The request, which the log of the server has as well.',
    }),
    address: t.exposeString('address', {
      nullable: true,
      description: 'The other end of the connection: behind a proxy, the proxy.',
    }),
    action: t.exposeString('action', {
      description: 'What: `session.create`, `token.revoke`, …; `refused` for a change that was refused.',
    }),
    projectId: t.expose('projectId', { type: 'UUID', nullable: true, description: 'The project that it concerns.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', nullable: true, description: 'The session that it concerns.' }),
    details: t.string({
      description:
        'The rest, as JSON. Of a refusal `operation`, `code`, `message`, and how many like it came `before`.',
      resolve: ({ details }) => JSON.stringify(details),
    }),
  }),
})

const AuditFilter = builder.inputType('AuditFilter', {
  description: 'Which entries. All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'Name of the project that they concern.' }),
    tokenId: t.field({ type: 'UUID', description: 'By this token.' }),
    userId: t.field({ type: 'UUID', description: 'By tokens of this user.' }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    requestId: t.string({ description: 'Of this request.' }),
    actor: t.string({ description: 'By this name.' }),
    action: t.stringList({ description: 'One of these actions.' }),
    refused: t.boolean({ description: 'Only what was refused, or only what was done.' }),
    at: t.field({ type: DateTimeFilter, description: 'By when it was.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.connection(
    {
      type: AuditEntry,
      nullable: true,
      description:
        'The audit log, newest first; null, with an error, unless you are an administrator. Those of one project see what concerns it. Values of environments and secrets are never in it.',
      args: { filter: t.arg({ type: AuditFilter, description: 'Which entries.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...page }, context) => readAudit(context, { filter: filter ?? {}, page }),
    },
    { name: 'AuditEntryConnection', description: 'A page of the audit log.' },
    { name: 'AuditEntryEdge', description: 'One entry and its place.' },
  ),
)
