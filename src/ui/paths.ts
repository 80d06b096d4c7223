/**
 * Every path with a page, and the modules of that page, relative to `pages`. The server answers these paths, and no
 * others, with the page that loads the program, and lists these modules in it, so that they are loaded at the same
 * time.
 */
export const UI_PATHS: Readonly<Record<string, readonly string[]>> = {
  '/': ['overview/overview-page'],
  '/login': ['login-page'],
  '/chains': ['chains/chains-page'],
  '/chains/new': ['new-session/new-session-page'],
  '/chains/$chainId': ['chain/chain-page'],
  '/retries': ['retries/retries-page'],
  '/failures': ['failures/failures-page'],
  '/agents': ['agents/agents-page'],
  '/agents/$agentId': ['agents/agent-page'],
  '/deployments': ['deployments/deployments-page'],
  '/deployments/$deploymentId': ['deployments/deployment-page'],
  '/schedules': ['schedules/schedules-page'],
  '/schedules/new': ['new-session/new-session-page'],
  '/schedules/$scheduleId': ['schedules/schedule-page'],
  '/schedules/$scheduleId/edit': ['new-session/new-session-page'],
  '/sessions': ['sessions/sessions-page'],
  '/sessions/$sessionId': ['sessions/session-page'],
  '/resubmissions': ['resubmissions/resubmissions-page'],
  '/resubmissions/$resubmissionId': ['resubmissions/resubmission-page'],
  '/policy': ['policy/policy-page'],
  '/settings': ['settings/settings-page', 'settings/switches-section'],
  '/settings/switches': ['settings/settings-page', 'settings/switches-section'],
  '/settings/defaults': ['settings/settings-page', 'settings/defaults-section'],
  '/settings/quotas': ['settings/settings-page', 'settings/quotas-section'],
  '/settings/webhooks': ['settings/settings-page', 'settings/webhooks-section'],
  '/settings/webhooks/$webhookId': ['settings/settings-page', 'settings/webhook-section'],
  '/settings/projects': ['settings/settings-page', 'settings/projects-section'],
  '/settings/members': ['settings/settings-page', 'settings/members-section'],
  '/settings/tokens': ['settings/settings-page', 'settings/tokens-section'],
  '/settings/audit': ['settings/settings-page', 'settings/audit-section'],
}
