import { draftOfPolicy, type SetPolicy } from '../../policy/policy-draft.ts'
import type { Draft, Section } from '../../policy/policy-fields.ts'
import type { UiNewSessionQuery } from './new-session.generated.ts'

export interface RetryDefaults {
  /** As if they were typed. */
  draft: Draft
  /** Where they are set, widest first: `the cluster`, `project research`. */
  from: string[]
}

/** What a project's sessions have of a retry policy that says nothing: field by field, the narrowest scope's. */
export function defaultsOf({ retryDefaults, projects }: UiNewSessionQuery, project: string): RetryDefaults {
  const domain = projects.edges.find(({ node }) => node.name === project)?.node.domain
  const names = { CLUSTER: null, DOMAIN: domain, PROJECT: project }
  const own = retryDefaults.filter(({ scope, name, policy }) => policy !== null && name === names[scope])
  return {
    draft: Object.assign({}, ...own.map(({ policy }) => draftOfPolicy(policy as SetPolicy))) as Draft,
    from: own.map(({ scope, name }) => (scope === 'CLUSTER' ? 'the cluster' : `${scope.toLowerCase()} ${name}`)),
  }
}

/** The same fields with these defaults in the places of the built-in ones. */
export function withDefaults(sections: readonly Section[], defaults: Draft): Section[] {
  return sections.map(([title, fields]) => [
    title,
    fields.map((field) => {
      const standard = field.kind === 'causes' ? undefined : defaults[field.name]
      return standard === undefined ? field : { ...field, standard }
    }),
  ])
}
