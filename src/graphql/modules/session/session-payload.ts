import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { SessionNode } from './session.type.ts'

export interface SessionPayload<Name extends string = string> {
  __typename: Name
  sessionId: string
}

/** A payload whose session is read after the commit, in one read shaped by the selection. */
export function sessionPayload<Shape extends SessionPayload>(name: Shape['__typename'], description: string) {
  return builder.objectRef<Shape>(name).implement({
    description,
    fields: (t) => ({
      session: t.field({
        type: SessionNode,
        description: 'The session, as it is now.',
        resolve: (payload: SessionPayload, _args, context, info) =>
          loadExistingSession({ context, info, by: 'id', value: payload.sessionId }),
      }),
    }),
  })
}
