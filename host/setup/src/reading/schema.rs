//! The settings beside hooks, as far as a wrong one keeps hooks from running.

use serde_json::{Map, Value};

use super::settings::{Drops, Problem};

/// What a value has to be, in words, whether it is, and for which keys.
type Kind = (&'static str, fn(&Value) -> bool, &'static [&'static str]);

/// Each of these keys was given a value of another kind, in a user's file that was right otherwise: the client read nothing
/// of that file. Other keys' wrong values were let pass. A right kind and a wrong value (a word that is none of the
/// choices) is not looked for, since the choices change from version to version.
const STRICT: [Kind; 5] = [
    ("true or false", Value::is_boolean, &BOOLEANS),
    ("a number", Value::is_number, &NUMBERS),
    ("a string", Value::is_string, &STRINGS),
    ("a list", Value::is_array, &LISTS),
    ("an object", Value::is_object, &OBJECTS),
];

const BOOLEANS: [&str; 68] = [
    "agentPushNotifEnabled",
    "allowAllClaudeAiMcps",
    "allowClaudeInChromeWithManagedMcp",
    "allowManagedHooksOnly",
    "allowManagedMcpServersOnly",
    "allowManagedPermissionRulesOnly",
    "allowNestedModelAccessUnderForceLogin",
    "alwaysThinkingEnabled",
    "autoCompactEnabled",
    "autoContinueAtUsageLimit",
    "autoDreamEnabled",
    "autoMemoryEnabled",
    "autoScrollEnabled",
    "autoUploadSessions",
    "bashEditDiffEnabled",
    "channelsEnabled",
    "disableAgentView",
    "disableArtifact",
    "disableBundledSkills",
    "disableClaudeAiConnectors",
    "disableCommandPluginSources",
    "disableRemoteControl",
    "disableReplyCheck",
    "disableSideloadFlags",
    "disableSkillShellExecution",
    "disableWindowsBashCommandSplit",
    "disableWorkflows",
    "emojiCompletionEnabled",
    "enableAllProjectMcpServers",
    "enableArtifact",
    "enableWorkflows",
    "enforceAvailableModels",
    "fastMode",
    "fastModePerSessionOptIn",
    "fileCheckpointingEnabled",
    "forceRemoteSettingsRefresh",
    "idleCompaction",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "inputNeededNotifEnabled",
    "isolatePeerMachines",
    "precomputeCompactionEnabled",
    "prefersReducedMotion",
    "promptSuggestionEnabled",
    "remoteControlAtStartup",
    "respectGitignore",
    "respondToBashCommands",
    "showClearContextOnPlanAccept",
    "showMessageTimestamps",
    "showThinkingSummaries",
    "showTurnDuration",
    "skipAutoPermissionPrompt",
    "skipDangerousModePermissionPrompt",
    "skipWebFetchPreflight",
    "spinnerTipsEnabled",
    "switchModelsOnFlag",
    "syncClaudeAiPlugins",
    "syncClaudeAiSkills",
    "syntaxHighlightingDisabled",
    "terminalProgressBarEnabled",
    "terminalTitleFromRename",
    "todoFeatureEnabled",
    "useAutoModeDuringPlan",
    "verbose",
    "voiceEnabled",
    "wheelScrollAccelerationEnabled",
    "workflowKeywordTriggerEnabled",
    "wslInheritsWindowsSettings",
];

const NUMBERS: [&str; 5] = [
    "cleanupPeriodDays",
    "desktopSessionCleanupPeriodDays",
    "feedbackSurveyRate",
    "skillListingBudgetFraction",
    "skillListingMaxDescChars",
];

const STRINGS: [&str; 34] = [
    "advisorModel",
    "agent",
    "apiKeyHelper",
    "attributionProject",
    "autoMemoryDirectory",
    "autoUpdatesChannel",
    "awsAuthRefresh",
    "awsCredentialExport",
    "claudeMd",
    "daemonColdStart",
    "defaultShell",
    "defaultView",
    "disableAutoMode",
    "disableDeepLinkRegistration",
    "downloadsMirrorUrl",
    "feedbackDrafts",
    "gcpAuthRefresh",
    "language",
    "managedSourcesBehavior",
    "minimumVersion",
    "model",
    "otelHeadersHelper",
    "outputStyle",
    "parentSettingsBehavior",
    "plansDirectory",
    "pluginTrustMessage",
    "prUrlTemplate",
    "processWrapper",
    "proxyAuthHelper",
    "requiredMaximumVersion",
    "requiredMinimumVersion",
    "timeZone",
    "tui",
    "workflowSizeGuideline",
];

const LISTS: [&str; 14] = [
    "allowedChannelPlugins",
    "allowedHttpHookUrls",
    "allowedMarketplaces",
    "availableModels",
    "blockedMarketplaces",
    "claudeMdExcludes",
    "companyAnnouncements",
    "disabledMcpjsonServers",
    "enabledMcpjsonServers",
    "fallbackModel",
    "httpHookAllowedEnvVars",
    "pluginSuggestionMarketplaces",
    "sshConfigs",
    "strictKnownMarketplaces",
];

const OBJECTS: [&str; 14] = [
    "autoMode",
    "enabledPlugins",
    "env",
    "fileSuggestion",
    "modelOverrides",
    "permissions",
    "pluginConfigs",
    "remote",
    "sandbox",
    "skillOverrides",
    "spinnerVerbs",
    "statusLine",
    "voice",
    "worktree",
];

/// What of a file's settings keeps the client from reading it.
pub(super) fn problems(settings: &Map<String, Value>) -> Vec<Problem> {
    let mut found = Vec::new();
    for (key, value) in settings {
        let wanted = STRICT
            .iter()
            .find(|(_, _, keys)| keys.contains(&key.as_str()))
            .filter(|(_, is_right, _)| !is_right(value));
        if let Some((kind, _, _)) = wanted {
            found.push(problem(key.clone(), kind));
        }
    }
    let permissions = settings.get("permissions").and_then(Value::as_object);
    for (key, value) in permissions.into_iter().flatten() {
        match key.as_str() {
            "allow" | "ask" | "deny" | "additionalDirectories" if !value.is_array() => {
                found.push(problem(format!("permissions.{key}"), "a list"));
            }
            "defaultMode" if !value.as_str().is_some_and(|mode| MODES.contains(&mode)) => {
                found.push(problem(
                    format!("permissions.{key}"),
                    &format!("one of {}", MODES.join(", ")),
                ));
            }
            _ => {}
        }
    }
    found
}

const MODES: [&str; 7] = [
    "default",
    "manual",
    "acceptEdits",
    "plan",
    "auto",
    "dontAsk",
    "bypassPermissions",
];

fn problem(at: String, kind: &str) -> Problem {
    Problem {
        at,
        says: format!("has to be {kind}"),
        drops: Drops::File,
        loses: None,
    }
}
