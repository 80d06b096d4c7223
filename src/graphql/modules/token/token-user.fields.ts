import { builder } from '../../builder.ts'
import { UserNode } from '../user/user.type.ts'
import { TokenNode } from './token.type.ts'

builder.prismaObjectField(TokenNode, 'user', (t) =>
  t.relation('user', {
    type: UserNode,
    nullable: true,
    description:
      'Its user, who owns the sessions that it creates. In a project it may do no more than the user may there, and nothing once the user is no longer a member.',
  }),
)
