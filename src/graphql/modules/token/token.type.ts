import { builder } from '../../builder.ts'
import { ProjectNode } from '../project/project.type.ts'

export const TokenRoleEnum = builder.enumType('TokenRole', {
  description: 'What a token may do.',
  values: {
    ADMIN: { description: 'Everything, in its project or in all.' },
    MEMBER: { description: 'Reads and changes the sessions of its project.' },
    VIEWER: { description: 'Reads what its project has.' },
    AGENT: { description: 'Runs kernels, and reads nothing here.' },
  } as const,
})

export const TokenType = builder.prismaObject('ApiToken', {
  name: 'Token',
  description: 'What a program shows to be let in. Of the token itself a hash is all that is kept.',
  select: { id: true },
  fields: (t) => ({
    tokenId: t.expose('id', { type: 'UUID', description: 'Its id, which opens nothing.' }),
    name: t.exposeString('name', { description: 'For people; two tokens may have the same.' }),
    prefix: t.exposeString('prefix', { description: 'How the token begins.' }),
    role: t.expose('role', { type: TokenRoleEnum, description: 'What it may do.' }),
    project: t.relation('project', {
      type: ProjectNode,
      nullable: true,
      description: 'The one that it sees; null for those of the whole cluster.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'From when on it works no longer; null is never.',
    }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to within a minute.',
    }),
  }),
})
